"""Stub libraries stand in for exactly what is missing."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

from tools.toolchains.torch import stub_libraries


def compile_library(folder: Path, name: str, source: str, *flags: str) -> Path:
    (folder / "source.c").write_text(source)
    command = ["gcc", "-shared", "-fPIC", "-x", "c", str(folder / "source.c"), "-x", "none"]
    out = folder / name
    subprocess.run([*command, f"-Wl,-soname,{name}", "-o", str(out), *flags], check=True)
    return out


def make_user_of_missing_cublas(folder: Path) -> Path:
    (folder / "v.map").write_text("libcublas.so.13 { global: cublasCreate_v2; };\n")
    cublas = compile_library(
        folder,
        "libcublas.so.13",
        "int cublasCreate_v2(void) { return 0; }",
        f"-Wl,--version-script={folder}/v.map",
    )
    user = compile_library(
        folder,
        "libuser.so",
        "int cublasCreate_v2(void); int use(void) { return cublasCreate_v2(); }",
        "-Wl,--no-as-needed",
        str(cublas),
        "-Wl,-rpath,$ORIGIN",
    )
    cublas.unlink()
    return user


def test_a_library_that_needs_nvidias_loads_and_gets_an_error_status(tmp_path: Path) -> None:
    user = make_user_of_missing_cublas(tmp_path)
    assert stub_libraries.make_stubs(tmp_path) == ["libcublas.so.13"]
    assert ctypes.CDLL(str(user)).use() == stub_libraries.STATUS


def test_the_cuda_runtime_says_that_there_is_no_device(tmp_path: Path) -> None:
    runtime = compile_library(
        tmp_path, "libcudart.so.13", "int cudaGetDeviceCount(void) { return 0; }"
    )
    user = compile_library(
        tmp_path,
        "libuser.so",
        "int cudaGetDeviceCount(void); int use(void) { return cudaGetDeviceCount(); }",
        "-Wl,--no-as-needed",
        str(runtime),
        "-Wl,-rpath,$ORIGIN",
    )
    runtime.unlink()
    assert stub_libraries.make_stubs(tmp_path) == ["libcudart.so.13"]
    assert ctypes.CDLL(str(user)).use() == stub_libraries.NO_DEVICE == 100


def test_the_two_locks_of_the_default_torch_agree_on_its_version() -> None:
    locks = Path(stub_libraries.__file__).resolve().parents[1] / "python"
    wanted = (locks / "torch.in").read_text().split("torch==")[1].split()[0]
    for name in ("torch.lock.txt", "torch_cpu.lock.txt"):
        pinned = (locks / name).read_text().split("\ntorch==")[1].split()[0]
        assert pinned.split("+")[0] == wanted, name


def test_nothing_is_made_where_nothing_is_missing(tmp_path: Path) -> None:
    compile_library(tmp_path, "libplain.so", "int plain(void) { return 1; }")
    assert stub_libraries.make_stubs(tmp_path) == []


def test_the_driver_and_foreign_libraries_are_left_alone(tmp_path: Path) -> None:
    for name in ("libcuda.so.1", "libz.so.1"):
        gone = compile_library(tmp_path, name, "int x(void) { return 0; }")
        compile_library(
            tmp_path, "libuser.so", "int y(void) { return 0; }", "-Wl,--no-as-needed", str(gone)
        )
        gone.unlink()
        assert stub_libraries.make_stubs(tmp_path) == []
