"""Other Python threads run while a kernel compiles; with DJ_DISABLE_GIL=1 the caller decides."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CXX = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")


def build_driver(tmp_path: Path, *flags: str) -> ctypes.PyDLL:
    """Builds the driver and loads it so that calls keep the GIL, as an extension's calls do."""
    library = tmp_path / "driver.so"
    includes = [f"-I{ROOT / folder / 'include'}" for folder in ("deepjit_core", "backends_host")]
    source = str(ROOT / "tests" / "backends_host" / "gil_driver.cpp")
    assert CXX is not None
    command = [CXX, "-std=c++20", "-O0", "-fPIC", "-shared", "-pthread", *flags, *includes]
    subprocess.run([*command, source, "-o", str(library), "-ldl"], check=True)
    return ctypes.PyDLL(str(library))


def ticks_while_compiling(
    driver: ctypes.PyDLL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> int:
    """How often a second Python thread ran while a compiler that takes a second was at work."""
    compiler = tmp_path / "slow_compiler"
    compiler.write_text(f'#!/bin/sh\nsleep 1\nexec {CXX} "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("GILT_JIT_HOST_COMPILER", str(compiler))
    monkeypatch.setenv("GILT_JIT_CACHE_DIR", str(tmp_path / "cache"))
    is_done = False
    ticks: list[float] = []

    def tick() -> None:
        while not is_done:
            ticks.append(time.monotonic())
            time.sleep(0.01)

    thread = threading.Thread(target=tick)
    thread.start()
    time.sleep(0.1)
    start = time.monotonic()
    num_compiles = driver.compile_once(str(tmp_path).encode(), b"k")
    end = time.monotonic()
    is_done = True
    thread.join()
    assert num_compiles == 1
    return sum(start + 0.05 < at < end - 0.05 for at in ticks)


@pytest.mark.skipif(CXX is None, reason="needs a C++ compiler")
def test_second_thread_advances_while_compiling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = build_driver(tmp_path)
    assert ticks_while_compiling(driver, tmp_path, monkeypatch) > 20


@pytest.mark.skipif(CXX is None, reason="needs a C++ compiler")
def test_gil_is_left_alone_when_compiled_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = build_driver(tmp_path, "-DDJ_DISABLE_GIL=1")
    assert ticks_while_compiling(driver, tmp_path, monkeypatch) <= 1
