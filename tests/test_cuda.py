"""Drives tests/test_cuda_proj, a library that embeds Runtime<CUDA>: `python tests/test_cuda.py`.

Compiling for a named target needs neither a GPU nor a driver; launching skips without one.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/backends_cuda"))

from cuda_build import (  # noqa: E402
    build_library,
    check_compile,
    cuda_include_dir,
    torch_target,
    why_no_gpu,
)

PROJECT = ROOT / "tests/test_cuda_proj"
HEADERS = sorted((ROOT / "backends_cuda/include/deep_jit/backend/cuda").glob("*.hpp"))
FUNCTIONS = (
    "demo_init",
    "demo_compile",
    "demo_cache_key",
    "demo_precompile",
    "demo_run",
    "demo_race",
    "demo_counters",
    "demo_report",
)

pytestmark = pytest.mark.skipif(cuda_include_dir() is None, reason="not fetched: CUDA's headers")


class Demo:
    """The library's functions as text in, text out; `with_gil` keeps the GIL during calls."""

    def __init__(self, library: Path, with_gil: bool = False) -> None:
        load = ctypes.PyDLL if with_gil else ctypes.CDLL
        self.functions = load(str(library))
        for name in FUNCTIONS:
            getattr(self.functions, name).restype = ctypes.c_char_p
        assert self("demo_init", str(PROJECT)) == "ok"

    def __call__(self, name: str, *arguments: str | int) -> str:
        encoded = [a.encode() if isinstance(a, str) else a for a in arguments]
        return getattr(self.functions, name)(*encoded).decode()

    def counters(self) -> dict[str, int]:
        pairs = re.findall(r"(\w+)=(\d+)", self("demo_counters"))
        return {name: int(value) for name, value in pairs}


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_library(PROJECT / "main.cpp", tmp_path_factory.mktemp("demo") / "libdemo.so")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "cache"
    monkeypatch.setenv("DEMO_JIT_CACHE_DIR", str(folder))
    yield folder


@pytest.fixture
def demo(library: Path, cache: Path) -> Demo:
    made = Demo(library)
    if "chosen: none" in made("demo_report"):
        pytest.skip("no CUDA compiler on this machine: " + made("demo_report"))
    return made


def test_a_named_target_compiles_without_a_device_and_the_second_time_is_a_disk_hit(
    demo: Demo,
) -> None:
    first = demo("demo_compile", "90a", 1)
    assert demo("demo_compile", "90a", 1) == first
    assert demo.counters() == {"compiles": 1, "disk_hits": 1, "memory_hits": 0, "loads": 0}
    assert (Path(first) / "kernel.cubin").read_bytes().startswith(b"\x7fELF")
    assert demo("demo_cache_key", "90a", 1)[:32] in Path(first).name


def test_targets_and_sources_have_keys_of_their_own(demo: Demo) -> None:
    keys = {demo("demo_cache_key", arch, v) for arch in ("80", "90a", "100f") for v in (1, 2)}
    assert len(keys) == 6


def test_precompile_fills_the_cache_and_later_calls_compile_nothing(
    demo: Demo, library: Path
) -> None:
    assert demo("demo_precompile", "90a", 3) == "3 of 3"
    later = Demo(library)
    for variant in range(3):
        assert not later("demo_compile", "90a", variant).startswith("error")
    assert later.counters()["compiles"] == 0


def test_threads_that_miss_together_compile_once(demo: Demo) -> None:
    assert not demo("demo_race", 8, 5).startswith("error")
    assert demo.counters()["compiles"] == 1


PROCESS = """
import sys
sys.path[:0] = [sys.argv[1]]
from pathlib import Path
from test_cuda import Demo
demo = Demo(Path(sys.argv[2]))
answer = demo("demo_compile", "90a", 6)
print(demo.counters()["compiles"] if not answer.startswith("error") else answer)
"""


def test_processes_that_share_a_cache_compile_once_together(demo: Demo, library: Path) -> None:
    command = [sys.executable, "-c", PROCESS, str(ROOT / "tests"), str(library)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    answers = sorted(process.communicate(timeout=300)[0].strip() for process in processes)
    assert answers == ["0", "0", "0", "1"]


def test_forbid_says_the_request_and_how_to_make_it(
    demo: Demo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEMO_JIT_MODE", "forbid")
    text = demo("demo_compile", "90a", 7)
    assert text.startswith("error: [Cache]")
    assert demo("demo_cache_key", "90a", 7) in text
    assert "precompile" in text


def test_a_damaged_entry_is_a_miss_and_is_built_again(demo: Demo) -> None:
    cubin = Path(demo("demo_compile", "90a", 8)) / "kernel.cubin"
    good = cubin.read_bytes()
    cubin.chmod(0o600)
    cubin.write_bytes(good[: len(good) // 2])
    again = Path(demo("demo_compile", "90a", 8)) / "kernel.cubin"
    assert again.read_bytes() == good
    assert demo.counters()["compiles"] == 2


def test_another_python_thread_runs_while_one_compiles(demo: Demo, library: Path) -> None:
    holder = Demo(library, with_gil=True)
    ticks: list[float] = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    answer = holder("demo_compile", "90a", 9)
    end = time.perf_counter()
    stop.set()
    thread.join()
    assert not answer.startswith("error")
    assert sum(start < tick < end for tick in ticks) >= 5


def test_no_device_is_said_in_words_where_one_is_needed(demo: Demo) -> None:
    if not why_no_gpu():
        pytest.skip("this machine has a GPU")
    text = demo("demo_run", 1)
    assert text.startswith("error: [Device]")
    assert "Fix:" in text


@pytest.mark.skipif(bool(why_no_gpu()), reason=f"needs a GPU: {why_no_gpu()}")
def test_a_kernel_compiles_loads_and_computes_and_the_second_time_is_a_memory_hit(
    demo: Demo,
) -> None:
    assert demo("demo_run", 3) == "ok"
    assert demo("demo_run", 3) == "ok"
    assert demo.counters() == {"compiles": 1, "disk_hits": 0, "memory_hits": 1, "loads": 1}


@pytest.mark.parametrize("header", HEADERS, ids=lambda header: header.stem)
def test_a_header_compiles_alone(header: Path, tmp_path: Path) -> None:
    assert check_compile(f"#include <deep_jit/backend/cuda/{header.name}>\n", tmp_path) == ""
    # So that compiling it with the macro set is compiling the same text.
    assert "USE_CUDA" not in header.read_text()


GUARD = """
{before}
#include <deep_jit/backend/cuda/stable_torch_utils.h>
{after}
CUstream current(int device) {{ return deep_jit::get_current_cuda_stream(device); }}
cudaStream_t pooled(int device) {{ return deep_jit::get_stream_from_pool(device); }}
using Guard = deep_jit::TorchCUDAStreamGuard;
static_assert(std::is_constructible_v<Guard, cudaStream_t, int32_t>);
static_assert(!std::is_default_constructible_v<Guard>);
static_assert(!std::is_copy_constructible_v<Guard> && !std::is_move_constructible_v<Guard>);
"""
IS_SET = '#ifndef USE_CUDA\n#error "USE_CUDA was set before and is gone"\n#endif'
IS_UNSET = '#ifdef USE_CUDA\n#error "USE_CUDA leaks"\n#endif'


@pytest.mark.parametrize("version", ["floor", "0x020d000000000000"])
@pytest.mark.parametrize(
    ("before", "after"), [("#define USE_CUDA 1", IS_SET), ("", IS_UNSET)], ids=["set", "unset"]
)
def test_the_torch_header_leaves_use_cuda_as_it_was(
    before: str, after: str, version: str, tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch")
    target = torch_target() if version == "floor" else version
    if version != "floor" and tuple(map(int, torch.__version__.split(".")[:2])) < (2, 13):
        pytest.skip("these torch headers are older than 2.13")
    include = Path(torch.__file__).parent / "include"
    flags = ("-isystem", str(include), f"-DTORCH_TARGET_VERSION={target}")
    assert check_compile(GUARD.format(before=before, after=after), tmp_path, *flags) == ""


@pytest.mark.parametrize("header", [h for h in HEADERS if h.name != "stable_torch_utils.h"])
def test_no_header_but_the_consumers_includes_torch(header: Path) -> None:
    assert not re.search(r"#include\s*[<\"](torch|ATen|c10)/", header.read_text())


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(pytest.main([str(Path(__file__)), *sys.argv[1:]]))
