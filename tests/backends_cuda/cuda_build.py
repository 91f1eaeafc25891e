"""Builds the C++ of the CUDA tests with g++ alone: our headers, CUDA's headers, no CUDA library."""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
INCLUDE_DIRS = (ROOT / "deepjit_core/include", ROOT / "backends_cuda/include", ROOT)
TORCH_TARGET_BZL = ROOT / "tools/bazel/torch_target.bzl"

PROBE = """
import ctypes
count = ctypes.c_int(0)
driver = ctypes.CDLL("libcuda.so.1")
code = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
print(f"cuInit says {code}" if code else "" if count.value else "no device is visible")
"""


@functools.cache
def why_no_gpu() -> str:
    """Empty where a GPU can be used. Asked in a process of its own, so that forks stay clean."""
    probe = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=False
    )
    return probe.stdout.strip() if probe.returncode == 0 else "no NVIDIA driver (libcuda.so.1)"


@functools.cache
def cuda_include_dir() -> Path | None:
    """What Bazel names, CUDA_HOME, the default folder, or the headers of pip's nvidia packages."""
    if listing := os.environ.get("DJ_TEST_CUDA_INCLUDE"):
        return Path(Path(listing).read_text().strip())
    roots = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ]
    roots.append(Path("/usr/local/cuda"))
    for site in map(Path, sys.path):
        roots += sorted(site.glob("nvidia/cu1*"), reverse=True)
        roots.append(site / "nvidia/cuda_runtime")
    for root in roots:
        if (root / "include/cuda.h").exists() and (root / "include/crt/host_defines.h").exists():
            return root / "include"
    return None


def torch_target(variable: str = "TORCH_TARGET_VERSION_CUDA") -> str:
    """The only place of the literal is the build's own file."""
    for line in TORCH_TARGET_BZL.read_text().splitlines():
        if line.startswith(variable):
            return line.split('"')[1]
    raise AssertionError(f"{variable} is not in {TORCH_TARGET_BZL}")


def compile_command(source: Path | str, *flags: str) -> list[str]:
    include = cuda_include_dir()
    assert include is not None
    command = [os.environ.get("CXX", "g++"), "-std=c++20", "-Wall", "-Wextra", "-Werror"]
    for directory in INCLUDE_DIRS:
        command += ["-I", str(directory)]
    return [*command, "-isystem", str(include), *flags, "-x", "c++", str(source)]


def check_compile(source: str, tmp_path: Path, *flags: str) -> str:
    """The compiler's output for a source text, empty when it is accepted."""
    path = tmp_path / "source.cpp"
    path.write_text(source)
    command = [*compile_command(path, *flags), "-fsyntax-only"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stderr if result.returncode else ""


def build_library(source: Path, target: Path, *flags: str, after: Sequence[str] = ()) -> Path:
    """A shared library, taken from DJ_TEST_PREBUILT_DIR where that holds one of this name.

    `after`: flags that must stand behind the source, as libraries do.
    """
    prebuilt = Path(os.environ.get("DJ_TEST_PREBUILT_DIR", "/nonexistent")) / target.name
    if prebuilt.exists():
        return prebuilt
    command = compile_command(source, "-O2", "-fPIC", "-shared", "-fvisibility=hidden", *flags)
    command += ["-x", "none", *after, "-o", str(target), "-ldl", "-pthread"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return target


def load_cases(library: Path) -> ctypes.CDLL:
    cases = ctypes.CDLL(str(library))
    for name in ("djt_run", "djt_names", "djt_add", "djt_launch_cost", "djt_first_call"):
        getattr(cases, name).restype = ctypes.c_char_p
    cases.djt_run.argtypes = [ctypes.c_char_p]
    cases.djt_add.argtypes = [
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
    ]
    return cases
