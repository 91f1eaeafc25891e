"""Every public header compiles alone, with all warnings as errors, with and without USE_CUDA."""

from __future__ import annotations

import importlib.util
import itertools
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tools.checks import tree

ROOT = tree.root()
OTHERS = ["g++-11", "g++-13", "g++-14", "clang++", "clang++-14", "clang++-16", "clang++-19"]
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-fvisibility=hidden"]

# Host kernels are compiled at run time for the machine that runs them, never for a generic one.
FOR_THIS_MACHINE = ["-march=native"]

# Needs pybind11 and Python.h, which nothing else here does.
PYBIND = "deep_jit/python_api.hpp"


def public_headers() -> list[str]:
    """As they are included: `deep_jit/utils/str.hpp`. Device kernels are compiled elsewhere."""
    names = []
    for folder in sorted(ROOT.glob("*/include")):
        names += [path.relative_to(folder).as_posix() for path in tree.files(folder, ".h", ".hpp")]
    return names


def include_flags() -> list[str]:
    flags = [f"-I{folder}" for folder in sorted(ROOT.glob("*/include"))] + [f"-I{ROOT}"]
    torch = importlib.util.find_spec("torch")
    assert torch is not None and torch.origin is not None
    flags += ["-isystem", str(Path(torch.origin).parent / "include")]
    for repository in ("cuda_headers", "ascend_headers"):
        flags += fetched_folder(repository)
    return flags


def fetched_folder(repository: str) -> list[str]:
    """Of third-party headers: from Bazel, else from the variable NAME_HEADERS, such as
    ASCEND_HEADERS."""
    if folder := tree.fetched(f"{repository}/include.txt"):
        return ["-isystem", str(folder)]
    named = os.environ.get(repository.upper())
    return ["-isystem", named] if named else []


def pybind_flags() -> list[str]:
    """Folders of pybind11 and Python.h, or a skip that says which is missing."""
    # Not from the environment: a cell of the matrix has one of its own.
    packages = tree.fetched("packaging/site.txt")
    if packages is None:
        pytest.skip("not fetched: pybind11")
    python = Path(sysconfig.get_path("include"))
    if not (python / "Python.h").exists():
        pytest.skip("needs Python.h")
    pybind = packages / "pybind11/include"
    return ["-isystem", str(pybind), "-isystem", str(python)]


def variants(header: str) -> list[list[str]]:
    """Where the text of a header depends on USE_CUDA, both ways: torch's headers do."""
    path = next(folder / header for folder in ROOT.glob("*/include") if (folder / header).exists())
    return [[], ["-DUSE_CUDA"]] if "<torch/" in path.read_text() else [[]]


def compilers(request: pytest.FixtureRequest) -> list[str]:
    if request.config.getoption("--other-compilers", default=False):
        return [name for name in OTHERS if shutil.which(name)]
    return [os.environ.get("CXX", "g++")]


@pytest.mark.parametrize("header", public_headers())
def test_a_header_compiles_alone(
    header: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if header.startswith("deep_jit/backend/ascend/") and not fetched_folder("ascend_headers"):
        pytest.skip("not fetched: the ACL headers; set ASCEND_HEADERS")
    source = tmp_path / "alone.cpp"
    source.write_text(f"#include <{header}>\n#include <{header}>\nint main() {{}}\n")
    flags = [*FLAGS, *include_flags()]
    flags += FOR_THIS_MACHINE if header.startswith("deep_gemm/host/") else []
    flags += pybind_flags() if header == PYBIND else []
    for compiler, defines in itertools.product(compilers(request), variants(header)):
        command = [compiler, *flags, *defines, str(source)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, f"{compiler} {defines}: {done.stderr[:6000]}"
