"""Small extensions on torch's stable ABI: one that embeds Runtime<CUDA>, and the audit's probe."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "tests/backends_cuda"))

from cuda_build import build_library, cuda_include_dir, torch_target, why_no_gpu  # noqa: E402

torch = pytest.importorskip("torch")

VECTOR_ADD = "_vector_add"
PROBE = "_deep_jit_stable_abi_probe"
SOURCES = {VECTOR_ADD: "vector_add.cpp", PROBE: "stable_abi_probe.cpp"}


def prebuilt(name: str) -> Path | None:
    """What Bazel built for this test."""
    found = Path("tests/consumers/torch_extension", f"{name}.abi3.so")
    return found.absolute() if found.exists() else None


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("extensions")
    root = Path(torch.__file__).parent
    extensions = {}
    for name, source in SOURCES.items():
        if ready := prebuilt(name):
            extensions[name] = ready
            continue
        if cuda_include_dir() is None:
            pytest.skip("not fetched: CUDA's headers")
        extensions[name] = build_library(
            HERE / source, folder / f"{name}.abi3.so",
            "-isystem", str(root / "include"), f"-DTORCH_TARGET_VERSION={torch_target()}",
            "-DDJ_DISABLE_GIL=1", "-DUSE_CUDA", "-fvisibility-inlines-hidden",
            after=["-Wl,--no-as-needed", str(root / "lib/libtorch_cpu.so"), "-Wl,--as-needed"],
        )  # fmt: skip
    return extensions


def load(name: str, built: dict[str, Path]) -> ModuleType:
    if name in sys.modules:  # registering a namespace twice is torch's business, not ours
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, built[name])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module
    return module


@pytest.mark.parametrize("name", [VECTOR_ADD, PROBE])
def test_the_extension_asks_for_the_stable_abi_alone(name: str, built: dict[str, Path]) -> None:
    command, environment = auditor("torch-abi-audit")
    done = subprocess.run(
        [*command, str(built[name]), "--json", "--check", "both"],
        env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (extension,) = json.loads(done.stdout)["extensions"]
    found = extension["torch"]
    assert found["uses_torch"] and found["stable"]
    assert found["unstable_symbols"] == [] and found["unknown_shim_symbols"] == []
    assert found["min_torch_version"].startswith("2.10")
    assert found["stable_shim_count"] >= 10
    assert extension["cpython"]["compliant"] and extension["cpython"]["violations"] == []
    print(f"{name}: {found['stable_shim_count']} stable shims, 0 unstable")


def auditor(name: str) -> tuple[list[str], dict[str, str]]:
    if sys.version_info < (3, 11):
        pytest.skip("torch-abi-audit needs Python 3.11")
    pytest.importorskip("runfiles")
    sys.path.insert(0, str(ROOT))
    from tools.checks import tree

    try:
        return tree.lint_tool(name)
    except FileNotFoundError as error:
        pytest.skip(f"not fetched: {error}")


def test_operands_without_a_gpu_are_refused_in_words(built: dict[str, Path]) -> None:
    load(VECTOR_ADD, built)
    a = torch.ones(4, dtype=torch.int32)
    with pytest.raises(RuntimeError, match="both operands are CUDA tensors"):
        torch.ops.dj_vector_add.add(a, a)


def test_the_kernel_compiles_for_a_named_target_without_a_gpu(
    built: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(VECTOR_ADD, built)
    monkeypatch.setenv("VECTOR_ADD_JIT_CACHE_DIR", str(tmp_path / "cache"))
    try:
        entry = torch.ops.dj_vector_add.compile_for("90a")
    except RuntimeError as error:
        if "COMPILER_FOUND" in str(error) or "no CUDA compiler" in str(error):
            pytest.skip("no CUDA compiler on this machine")
        raise
    assert (Path(entry) / "kernel.cubin").read_bytes().startswith(b"\x7fELF")


def test_the_probe_runs_on_the_cpu(built: dict[str, Path]) -> None:
    load(PROBE, built)
    a = torch.zeros(3, 5)
    want = 15 + 2 + 5 + 1 + 6 + 1  # 6: float32 in torch's numbering
    assert torch.equal(torch.ops.dj_stable_abi_probe.touch(a), torch.full((3, 5), float(want)))


def test_streams_without_a_cuda_torch_are_refused_in_words(built: dict[str, Path]) -> None:
    if torch.version.cuda is not None:
        pytest.skip("this torch is a CUDA build")
    load(PROBE, built)
    with pytest.raises(RuntimeError, match="TORCH_CUDA"):
        torch.ops.dj_stable_abi_probe.streams(0)


needs_gpu = pytest.mark.skipif(
    bool(why_no_gpu()),
    reason=f"needs a GPU: {why_no_gpu()}",
)


@needs_gpu
@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 100_003])
def test_sums_on_a_side_stream_are_right(count: int, built: dict[str, Path]) -> None:
    load(VECTOR_ADD, built)
    generator = torch.Generator(device="cuda").manual_seed(count)
    a, b = (
        torch.randint(-(2**30), 2**30, (count,), dtype=torch.int32, device="cuda",
                      generator=generator)
        for _ in range(2)
    )  # fmt: skip
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(10_000_000)
        a.add_(5)
        out = torch.ops.dj_vector_add.add(a, b)
    side.synchronize()
    assert torch.equal(out.cpu().long(), a.cpu().long() + b.cpu().long())


@needs_gpu
def test_the_probe_sees_pool_and_guard(built: dict[str, Path]) -> None:
    load(PROBE, built)
    torch.zeros(1, device="cuda")
    assert torch.ops.dj_stable_abi_probe.streams(0) == 1
