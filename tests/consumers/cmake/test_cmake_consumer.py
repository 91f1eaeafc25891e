"""A CMake project that takes DeepJIT from a copy of its headers outside the repository."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / "tests/backends_cuda"), str(ROOT / "tools/packaging")]

import header_tree  # noqa: E402
from cuda_build import cuda_include_dir  # noqa: E402


def cmake() -> str | None:
    """The locked CMake under Bazel, the machine's elsewhere."""
    if listing := os.environ.get("DJ_TEST_PACKAGING"):
        return str(Path(Path(listing).read_text().splitlines()[0], "cmake/data/bin/cmake"))
    return shutil.which("cmake")


pytestmark = [
    pytest.mark.skipif(cmake() is None, reason="not fetched: CMake"),
    pytest.mark.skipif(cuda_include_dir() is None, reason="not fetched: CUDA's headers"),
]


def run(*command: str | Path, **variables: str) -> str:
    environment = {**os.environ, **variables}
    if library := environment.get("DJ_JIT_NVRTC_LIBRARY"):
        environment["DJ_JIT_NVRTC_LIBRARY"] = str(Path(library).absolute())
    done = subprocess.run(
        [str(word) for word in command], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return done.stdout


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built project: sources, headers and build folder all outside of the checkout."""
    folder = tmp_path_factory.mktemp("consumer")
    header_tree.write_tree(folder / "deepjit")
    for name in ("CMakeLists.txt", "main.cpp", "streams.cpp"):
        shutil.copyfile(HERE / name, folder / name)
    torch = importlib.util.find_spec("torch")
    options = [f"-DDEEPJIT_CUDA_INCLUDE_DIR={cuda_include_dir()}"]
    if torch is not None and torch.origin is not None:
        options.append(f"-DDEEPJIT_TORCH_INCLUDE_DIR={Path(torch.origin).parent / 'include'}")
    if generator := shutil.which("make"):
        options += ["-G", "Unix Makefiles", f"-DCMAKE_MAKE_PROGRAM={generator}"]
    elif generator := shutil.which("ninja"):
        options += ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={generator}"]
    else:
        pytest.skip("neither make nor ninja")
    run(
        cmake() or "", "-S", folder, "-B", folder / "build",
        f"-DCMAKE_PREFIX_PATH={folder / 'deepjit'}", *options,
    )  # fmt: skip
    run(cmake() or "", "--build", folder / "build", "-j", "2")
    return folder / "build"


def test_the_program_runs_a_host_kernel_and_compiles_a_cuda_kernel(
    build: Path, tmp_path: Path
) -> None:
    answer = run(build / "consumer", tmp_path, CONSUMER_JIT_CACHE_DIR=str(tmp_path / "cache"))
    assert "host: 8 blocks ran" in answer
    line = answer.splitlines()[1]
    if line == "cuda: no compiler here":
        pytest.skip("no CUDA compiler on this machine")
    assert Path(line.removeprefix("cuda: ")).read_bytes().startswith(b"\x7fELF")


def test_the_torch_target_builds_an_extension_that_loads_without_a_gpu(build: Path) -> None:
    pytest.importorskip("torch")
    code = "import ctypes, sys, torch; print(ctypes.CDLL(sys.argv[1]).consumer_current_stream)"
    assert "FuncPtr" in run(sys.executable, "-c", code, build / "libstreams.so")


def test_a_component_without_headers_is_refused_by_name(tmp_path: Path) -> None:
    header_tree.write_tree(tmp_path / "deepjit")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(none NONE)\n"
        "set(DEEPJIT_ACL_INCLUDE_DIR DEEPJIT_ACL_INCLUDE_DIR-NOTFOUND)\n"
        "set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH FALSE)\n"
        "enable_language(CXX)\nfind_package(DeepJIT REQUIRED COMPONENTS ascend)\n"
    )
    environment = {name: value for name, value in os.environ.items() if "ASCEND" not in name}
    done = subprocess.run(
        [cmake() or "", "-S", str(tmp_path), "-B", str(tmp_path / "build"),
         f"-DCMAKE_PREFIX_PATH={tmp_path / 'deepjit'}"],
        env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode != 0
    assert "no headers for ascend" in " ".join(done.stderr.split())
