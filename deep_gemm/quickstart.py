"""The main job on this machine: DeepSeek-V3's dense FP8 shapes, from random weights to a table.

    ./tools/bazelw run //deep_gemm:quickstart              # m = 1 and 128
    ./tools/bazelw run //deep_gemm:quickstart -- --full    # and m = 4096
    python -m deep_gemm.quickstart --json                  # where the package is installed

Weights and activations are random BF16, quantised by the published helpers. Kernels are compiled
at first use and cached: a second run compiles none. The error columns compare sampled rows and
columns, each over its whole k, with float64: `vs fp8` with the quantised operands (what the kernel
is responsible for, relative to the largest entry), `vs bf16` with the original ones (what
quantising costs, DeepGEMM's similarity measure). Timings here are an impression, not a benchmark.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable

# Why before torch: it complains while it is imported, and nothing here uses NumPy.
warnings.filterwarnings("ignore", message="Failed to initialize NumPy", category=UserWarning)

import torch  # noqa: E402

try:
    from absl import app, flags
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "quickstart needs absl-py, which the package does not: pip install absl-py", name=error.name
    ) from None

# Why: as a program this file has no package around it, vendored it has another one.
deep_gemm = importlib.import_module(__package__ or "deep_gemm")
_progress = importlib.import_module(f"{deep_gemm.__name__}._progress").progress

_FULL = flags.DEFINE_bool("full", False, "Also run m = 4096.")
_ROWS = flags.DEFINE_multi_integer("m", None, "Rows of the activations, instead of 1 and 128.")
_JSON = flags.DEFINE_bool("json", False, "Print the result as JSON.")
_DEVICE = flags.DEFINE_enum("device", "auto", ["auto", "cpu", "cuda"], "Where to run.")
_SECONDS = flags.DEFINE_float("seconds", 0.3, "How long to repeat each shape for its timing.")

# n x k of the dense linear layers of DeepSeek-V3.
_SHAPES = (
    (2112, 7168),
    (576, 7168),
    (24576, 1536),
    (32768, 512),
    (7168, 16384),
    (4096, 7168),
    (7168, 2048),
)
_SAMPLED_ROWS = 16
_SAMPLED_COLUMNS = 128
_CHUNK = 2048  # rows quantised at a time, so that the float32 copy stays small
_OP = "fp8_gemm_nt"


@dataclasses.dataclass
class Row:
    """One line of the table."""

    m: int
    n: int
    k: int
    compile_ms: float
    load_ms: float
    time_us: float
    gflops: float
    gbytes: float
    error_vs_fp8: float
    diff_vs_bf16: float


@dataclasses.dataclass
class Weights:
    """A quantised weight, and the BF16 rows that the error is measured on."""

    data: torch.Tensor
    scale: torch.Tensor
    columns: torch.Tensor
    sampled: torch.Tensor


def _device() -> torch.device:
    if _DEVICE.value != "auto":
        return torch.device(_DEVICE.value)
    if torch.cuda.is_available():
        major, minor = torch.cuda.get_device_capability()
        a = torch.empty((128, 128), dtype=torch.float8_e4m3fn, device="meta")
        scale = torch.empty((128, 1), device="meta")
        block = torch.empty((1, 1), device="meta")
        d = torch.empty((128, 128), dtype=torch.bfloat16, device="meta")
        arch = f"{major}{minor}" + ("a" if major >= 9 else "")
        if deep_gemm.supports(_OP, (a, scale), (a, block), d, arch=arch)[0]:
            return torch.device("cuda")
    return torch.device("cpu")


def _quantised_weights(n: int, k: int, device: torch.device, seed: int) -> Weights:
    generator = torch.Generator(device).manual_seed(seed)
    columns = torch.randperm(n, generator=generator, device=device)[:_SAMPLED_COLUMNS]
    sampled = torch.empty((columns.numel(), k), dtype=torch.bfloat16, device=device)
    data, scales = [], []
    for start in range(0, n, _CHUNK):
        rows = min(_CHUNK, n - start)
        w = torch.randn((rows, k), generator=generator, device=device).bfloat16()
        inside = (columns >= start) & (columns < start + rows)
        sampled[inside] = w[columns[inside] - start]
        chunk, scale = deep_gemm.per_block_cast_to_fp8(w, use_ue8m0=False)
        data.append(chunk)
        scales.append(scale)
    return Weights(torch.cat(data), torch.cat(scales), columns, sampled)


def _errors(
    x: torch.Tensor,
    a: tuple[torch.Tensor, torch.Tensor],
    weights: Weights,
    d: torch.Tensor,
) -> tuple[float, float]:
    rows = torch.linspace(0, x.size(0) - 1, min(x.size(0), _SAMPLED_ROWS), device=x.device).long()
    got = d[rows][:, weights.columns].double()
    k = x.size(1)
    b = weights.data.view(torch.uint8)[weights.columns].view(torch.float8_e4m3fn).double()
    b_scale = weights.scale[weights.columns // 128].repeat_interleave(128, dim=1)[:, :k]
    lhs = deep_gemm.reference.dequantise(a[0][rows], a[1][rows], 1, 128)
    want = lhs @ (b * b_scale).t()
    error = ((got - want).abs().max() / want.abs().max()).item()
    original = x[rows].double() @ weights.sampled.double().t()
    return error, deep_gemm.testing.calc_diff(got, original)


def _median_seconds(call: Callable[[], None], device: torch.device) -> float:
    samples: list[float] = []
    stop = time.perf_counter() + _SECONDS.value
    while len(samples) < 2 or (time.perf_counter() < stop and len(samples) < 1000):
        if device.type == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        if device.type == "cuda":
            torch.cuda.synchronize()
        samples.append(time.perf_counter() - start)
    return statistics.median(samples)


def _run_shape(m: int, weights: Weights, device: torch.device) -> Row:
    n, k = weights.data.shape
    x = torch.randn((m, k), device=device).bfloat16()
    a = deep_gemm.per_token_cast_to_fp8(x, use_ue8m0=False)
    d = torch.empty((m, n), dtype=torch.bfloat16, device=device)

    def call() -> None:
        deep_gemm.fp8_gemm_nt(a, (weights.data, weights.scale), d)

    before = deep_gemm.counters()
    call()
    after = deep_gemm.counters()
    seconds = _median_seconds(call, device)
    error, diff = _errors(x, a, weights, d)
    moved = deep_gemm.testing.count_bytes(a, weights.data, weights.scale, d)
    return Row(
        m=m,
        n=n,
        k=k,
        compile_ms=after["compile_ms"] - before["compile_ms"],
        load_ms=after["load_ms"] - before["load_ms"],
        time_us=seconds * 1e6,
        gflops=2 * m * n * k / seconds / 1e9,
        gbytes=moved / seconds / 1e9,
        error_vs_fp8=error,
        diff_vs_bf16=diff,
    )


def _table(rows: list[Row]) -> str:
    header = (
        f"{'m':>5} {'n':>6} {'k':>6} {'compile ms':>11} {'load ms':>8} {'time us':>10} "
        f"{'GFLOP/s':>8} {'GB/s':>7} {'vs fp8':>9} {'vs bf16':>9}"
    )
    lines = [header, "-" * len(header)]
    for row in rows:
        lines.append(
            f"{row.m:>5} {row.n:>6} {row.k:>6} {row.compile_ms:>11.1f} {row.load_ms:>8.2f} "
            f"{row.time_us:>10.1f} {row.gflops:>8.1f} {row.gbytes:>7.2f} "
            f"{row.error_vs_fp8:>9.1e} {row.diff_vs_bf16:>9.1e}"
        )
    return "\n".join(lines)


def main(argv: list[str]) -> None:
    """Run all shapes, print the table, fail if an error is out of its budget."""
    if len(argv) > 1:
        raise app.UsageError(f"unexpected arguments: {argv[1:]}")
    torch.manual_seed(0)
    device = _device()
    sizes = _ROWS.value or [1, 128, *([4096] if _FULL.value else [])]
    began = time.perf_counter()
    rows: list[Row] = []
    with _progress(len(_SHAPES) * (1 + len(sizes))) as bar:
        for seed, (n, k) in enumerate(_SHAPES):
            bar.set_description(f"quantising {n} x {k}")
            weights = _quantised_weights(n, k, device, seed)
            bar.update(1)
            for m in sizes:
                bar.set_description(f"m={m} n={n} k={k}: compile, load, run")
                rows.append(_run_shape(m, weights, device))
                bar.update(1)
    counters = deep_gemm.counters()
    seconds = time.perf_counter() - began
    result = {
        "device": str(device),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": sys.executable,
        "seconds": seconds,
        "counters": counters,
        "rows": [dataclasses.asdict(row) for row in rows],
    }
    if _JSON.value:
        print(json.dumps(result, indent=2))
    else:
        print(f"fp8_gemm_nt on {device}, {result['threads']} threads, torch {torch.__version__}")
        print(_table(rows))
        print(
            f"kernels: {counters['compiles']:.0f} compiled, {counters['disk_hits']:.0f} from disk, "
            f"{counters['loads']:.0f} loaded; {seconds:.1f} s in all"
        )
    # Budgets: BF16 output rounds to 2**-9; the similarity bound is the one DeepGEMM tests with.
    wrong = [row for row in rows if not (row.error_vs_fp8 < 2**-7 and row.diff_vs_bf16 < 1e-3)]
    if wrong:
        sys.exit(f"quickstart: {len(wrong)} shapes are wrong, first {wrong[0]}")


def run() -> None:
    """Entry of the console command."""
    app.run(main)


if __name__ == "__main__":
    run()
