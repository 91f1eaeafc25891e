"""Builds, checks and times the variants beside the tree as it is: one call, one table.

    python3 bench/variants/run.py --peer FOLDER      # FOLDER holds the peer's deep_gemm

For a machine with a Hopper GPU. Each set of patches lives in its own copy of the tree. A kernel is
first tried on small shapes; only if that ends in time and is right do its suites, the memory
checker and the clock follow. A step that fails or hangs is killed at its limit and the rest goes
on. Logs lie in WORK/logs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SMOKE = "bench/variants/smoke.py"

# Copies of the tree: what is applied to each.
TREES = {
    "base": [],
    "stores": ["fp8_gemm_storing_warp.patch", "paged_logits_two_copiers.patch"],
}

DENSE = "tests/deep_gemm/test_gemm_cuda.py"
GROUPED = "tests/deep_gemm/test_grouped_cuda.py"


@dataclass
class Kernel:
    """A kernel under test: its copy of the tree, its suites (file, -k), its rows of cases.csv."""

    tree: str
    suites: list[tuple[str, str]]
    rows: list[tuple[str, str]]  # family, the beginning of the row's title
    steps: dict[str, str] = field(default_factory=dict)


def kernels() -> dict[str, Kernel]:
    """Every kernel by its name."""
    return {
        "fp8": Kernel(
            "stores",
            [(DENSE, "not bf16"), (GROUPED, "not bf16 and not two_to_the_31")],
            [
                ("dense_fp8", "4096x7168x2048 NT BF16"),
                ("dense_fp8", "4096x2112x7168 NT BF16"),
                ("m_grouped_fp8_index", ""),
                ("masked_fp8", "192x6144x7168"),
                ("masked_fp8", "20x4096x4096"),
            ],
        ),
        "paged": Kernel(
            "stores",
            [("tests/deep_gemm/test_attention_paged.py", "cuda")],
            [("paged_mqa_logits", "256x8192")],
        ),
    }


@dataclass
class Runner:
    """Starts steps, ends them at their limit, keeps their output."""

    work: Path

    def step(self, name: str, argv: list[str], tree: str, limit: float, **variables: str) -> str:
        """'ok 12s', 'failed 12s' or 'hung 60s'."""
        log = self.work / "logs" / f"{name.replace(' ', '_').replace('/', '_')}.log"
        cwd = self.work / tree
        env = {**os.environ, "PYTHONPATH": f"{cwd}:{os.environ.get('PYTHONPATH', '')}", **variables}
        env.setdefault("DG_JIT_CACHE_DIR", str(self.work / f"cache_{tree}"))
        start = time.monotonic()
        with log.open("w") as file:
            process = subprocess.Popen(
                argv, cwd=cwd, env=env, stdout=file, stderr=file, start_new_session=True
            )
            try:
                verdict = "ok" if process.wait(timeout=limit) == 0 else "failed"
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                verdict = "hung"
        verdict = f"{verdict} {time.monotonic() - start:.0f}s"
        print(f"{name}: {verdict}", flush=True)
        if not verdict.startswith("ok"):
            print(
                "    " + "\n    ".join(log.read_text(errors="replace").splitlines()[-8:]),
                flush=True,
            )
        return verdict


def prepare(runner: Runner, tree: str, jobs: int) -> str:
    """A copy of the tree with its patches, built."""
    target = runner.work / tree
    ignored = shutil.ignore_patterns(".git", ".obj", "build", "*.so", "__pycache__", ".ruff_cache",
                                     "bazel-*", ".peer", ".whl")  # fmt: skip
    shutil.copytree(ROOT, target, ignore=ignored, symlinks=True)
    for patch in TREES[tree]:
        path = str(ROOT / "bench/variants" / patch)
        argv = ["git", "apply", path] if shutil.which("git") else ["patch", "-p1", "-i", path]
        verdict = runner.step(f"apply {patch}", argv, tree, 20)
        if not verdict.startswith("ok"):
            return verdict
    build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    return runner.step(f"build {tree}", build, tree, 240, MAX_JOBS=str(jobs))


def check(runner: Runner, names: list[str], all_kernels: dict[str, Kernel]) -> None:
    """Small shapes first; then, of what is right, suites and memory checker side by side."""
    python = sys.executable

    def smoke(name: str) -> None:
        kernel = all_kernels[name]
        kernel.steps["small"] = runner.step(f"small {name}", [python, SMOKE, name], kernel.tree, 75)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(smoke, names))
    later = []
    for name in names:
        kernel = all_kernels[name]
        if not kernel.steps["small"].startswith("ok"):
            continue
        for number, (suite, wanted) in enumerate(kernel.suites):
            argv = [
                python,
                "-m",
                "pytest",
                "-q",
                "-x",
                "-p",
                "no:cacheprovider",
                "-k",
                wanted,
                suite,
            ]
            later.append((kernel, f"suite {number + 1}", f"{name} {suite} {wanted}", argv, {}))
        if shutil.which("compute-sanitizer"):
            for tool in ("memcheck", "synccheck"):
                argv = [
                    "compute-sanitizer",
                    "--tool",
                    tool,
                    "--error-exitcode",
                    "9",
                    python,
                    SMOKE,
                    name,
                ]
                later.append((kernel, tool, f"{tool} {name}", argv,
                              {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}))  # fmt: skip

    def run(entry: tuple[Kernel, str, str, list[str], dict[str, str]]) -> None:
        kernel, step, title, argv, variables = entry
        kernel.steps[step] = runner.step(title, argv, kernel.tree, 150, **variables)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, later))


def clock(work: Path, name: str, peer: Path | None, out: Path) -> None:
    """Rows of a kernel: the tree as it is, the variant and the peer take turns."""
    from deep_gemm.bench import _cases, _measure
    from deep_gemm.bench._process import Worker

    kernel = kernels()[name]
    rows = _cases.load()
    chosen = []
    for family, start in kernel.rows:
        found = [r for r in rows if r["family"] == family and _cases.title(r).startswith(start)]
        if family == "m_grouped_fp8_index":
            found = [_cases.SEED["grouped_fp8_nt"]]
        chosen += found[:1]
    roots = {"base": work / "base", "variant": work / kernel.tree} | (
        {"peer": peer} if peer else {}
    )
    workers = {
        who: Worker(root, DG_JIT_CACHE_DIR=str(work / f"cache_clock_{who}_{kernel.tree}"))
        for who, root in roots.items()
    }
    for row in chosen:
        result: dict[str, object] = {"kernel": name, "case": _cases.title(row)}
        times: dict[str, list[float]] = {who: [] for who in workers}
        ready = {}
        for who, worker in workers.items():
            prepared = worker.ask(do="prepare", row=row)
            checked = prepared if "failed" in prepared else worker.ask(do="error")
            result[f"{who}_error"] = checked.get("error", checked.get("failed"))
            if "failed" not in prepared:
                ready[who] = worker
        for _ in range(_measure._ROUNDS):
            for who, worker in ready.items():
                us = worker.ask(do="measure", what="call", n=_measure._CALLS).get("us")
                times[who] += [us] if us else []
        result |= {who: sorted(us)[len(us) // 2] if us else None for who, us in times.items()}
        with out.open("a") as file:
            file.write(json.dumps(result) + "\n")
    for worker in workers.values():
        worker.__exit__(None, None, None)


def table(all_kernels: dict[str, Kernel], names: list[str], out: Path) -> None:
    """What happened, and the times."""
    print("\n=== steps")
    for name in names:
        print(f"{name:<10} " + "; ".join(f"{k} {v}" for k, v in all_kernels[name].steps.items()))
    print(f"=== us\n{'kernel':<10} {'case':<32} {'base':>9} {'variant':>9} {'peer':>9} "
          f"{'base/var':>8} {'peer/var':>8}  errors")  # fmt: skip
    for line in out.read_text().splitlines() if out.exists() else []:
        r = json.loads(line)
        base, variant, peer = (r.get(who) for who in ("base", "variant", "peer"))
        cells = [f"{x:9.2f}" if x else "        -" for x in (base, variant, peer)]
        ratios = [f"{x / variant:8.3f}" if x and variant else "       -" for x in (base, peer)]
        found = [r.get(f"{who}_error") for who in ("base", "variant", "peer")]
        errors = [f"{e:.1e}" if isinstance(e, float) else str(e)[:60] for e in found]
        name, case = r["kernel"], r["case"][:32]
        print(f"{name:<10} {case:<32} {' '.join(cells + ratios)}  {', '.join(errors)}")


def main() -> int:
    """0 when every step of every kernel is right."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer", type=Path, help="folder that holds the peer's deep_gemm")
    parser.add_argument("--work", type=Path, default=Path("/tmp/variants"))
    parser.add_argument("--only", nargs="+", choices=list(kernels()), default=list(kernels()))
    parser.add_argument("--clock", help=argparse.SUPPRESS)
    flags = parser.parse_args()
    out = flags.work / "times.jsonl"
    if flags.clock:
        clock(flags.work, flags.clock, flags.peer, out)
        return 0
    shutil.rmtree(flags.work, ignore_errors=True)
    (flags.work / "logs").mkdir(parents=True)
    runner = Runner(flags.work)
    all_kernels = kernels()
    trees = ["base", *dict.fromkeys(all_kernels[name].tree for name in flags.only)]
    jobs = max(1, (os.cpu_count() or 1) // len(trees))
    with ThreadPoolExecutor(len(trees)) as pool:
        built = dict(zip(trees, pool.map(lambda t: prepare(runner, t, jobs), trees), strict=True))
    names = [name for name in flags.only if built[all_kernels[name].tree].startswith("ok")]
    check(runner, names, all_kernels)
    for name in names:
        steps = all_kernels[name].steps
        if steps["small"].startswith("ok") and built["base"].startswith("ok"):
            argv = [sys.executable, str(Path(__file__).resolve()), "--clock", name]
            argv += ["--work", str(flags.work)]
            argv += ["--peer", str(flags.peer.resolve())] if flags.peer else []
            steps["times"] = runner.step(f"times {name}", argv, "base", 120)
    table(all_kernels, names, out)
    done = [v for name in names for v in all_kernels[name].steps.values()]
    return 0 if len(names) == len(flags.only) and all(v.startswith("ok") for v in done) else 1


if __name__ == "__main__":
    sys.exit(main())
