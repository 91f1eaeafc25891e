"""An extension built with pybind11 on python_api.hpp, as libraries that embed DeepJIT do today."""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
import threading
import time
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "tests/backends_cuda"))

from cuda_build import INCLUDE_DIRS, build_library, cuda_include_dir  # noqa: E402

HOST = ROOT / "backends_host/include"
KERNEL = 'extern "C" void nothing(const void*, void* const*) {}'


def pybind_include() -> Path | None:
    """pybind11's headers: the locked ones under Bazel, the interpreter's own elsewhere."""
    if listing := os.environ.get("DJ_TEST_PACKAGING"):
        return Path(Path(listing).read_text().splitlines()[0], "pybind11/include")
    spec = importlib.util.find_spec("pybind11")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0], "include")
    return folder if (folder / "pybind11/pybind11.h").exists() else None


PYTHON_INCLUDE = Path(sysconfig.get_path("include"))
pytestmark = [
    pytest.mark.skipif(pybind_include() is None, reason="not fetched: pybind11"),
    pytest.mark.skipif(not (PYTHON_INCLUDE / "Python.h").exists(), reason="needs Python.h"),
    pytest.mark.skipif(cuda_include_dir() is None, reason="not fetched: CUDA's headers"),
]


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    assert HOST not in INCLUDE_DIRS
    target = tmp_path_factory.mktemp("pybind") / "pybind_module.so"
    build_library(
        HERE / "pybind_module.cpp", target,
        "-I", str(HOST), "-isystem", str(pybind_include()), "-isystem", str(PYTHON_INCLUDE),
    )  # fmt: skip
    spec = importlib.util.spec_from_file_location("pybind_module", target)
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYBIND_CONSUMER_JIT_CACHE_DIR", str(tmp_path / "cache"))


def test_the_runtime_compiles_once_and_says_what_it_did(module: ModuleType) -> None:
    jit = module.get_jit()
    before = jit.counters()["compiles"]
    folder = Path(jit.compile_without_load("nothing", KERNEL))
    assert folder.is_dir()
    assert jit.cache_key(KERNEL)[:32] in folder.name
    assert Path(jit.compile_without_load("nothing", KERNEL)) == folder
    assert jit.counters()["compiles"] == before + 1
    assert '"env_prefix"' in jit.config()


def test_two_back_ends_have_a_runtime_each(module: ModuleType) -> None:
    assert type(module.get_jit()) is not type(module.cuda.get_jit())
    assert module.cuda.get_jit() is module.cuda.get_jit()


def test_another_thread_runs_while_a_kernel_compiles(module: ModuleType) -> None:
    ticks: list[float] = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    module.get_jit().compile_without_load("nothing", KERNEL + "// another source\n")
    end = time.perf_counter()
    stop.set()
    thread.join()
    assert sum(start < moment < end for moment in ticks) >= 5


def test_an_error_of_the_compiler_arrives_as_an_exception_with_its_log(module: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="not_a_type"):
        module.get_jit().compile_without_load("broken", "not_a_type x;")
