"""Compiles kernel text for a named arch with NVRTC, and says what ptxas says: no GPU, no toolkit.

nvrtc = nvrtc_or_skip()
report = nvrtc.compile(text, "90a")          # AssertionError with the whole log when it fails
report.registers, report.spill_bytes, report.stack_bytes
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import deep_gemm

INCLUDE = Path(deep_gemm.__file__).parent / "include"


@dataclass(frozen=True)
class Report:
    """What ptxas wrote about the only kernel of a text."""

    registers: int
    spill_bytes: int
    stack_bytes: int
    log: str


def _folders() -> Iterator[Path]:
    if named := os.environ.get("DJ_JIT_NVRTC_LIBRARY"):
        yield Path(named).resolve().parent
    found = importlib.util.find_spec("nvidia")
    for folder in (found.submodule_search_locations or ()) if found else ():
        yield from sorted(Path(folder).glob("*/lib"))
    for root in (os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        if root:
            yield Path(root) / "lib64"


def _load() -> ctypes.CDLL | None:
    for folder in _folders():
        for path in sorted(folder.glob("libnvrtc.so.1[2-9]")):
            # Why: NVRTC opens this one by name, and finds it when it is loaded already.
            for builtins in folder.glob("libnvrtc-builtins.so.1[2-9].*"):
                ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
            return ctypes.CDLL(str(path))
    return None


class Nvrtc:
    """One loaded NVRTC."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    def _text(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        assert getattr(self._library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)) == 0
        text = ctypes.create_string_buffer(size.value)
        assert getattr(self._library, f"nvrtcGet{what}")(program, text) == 0
        return text.raw

    def _version(self) -> tuple[int, int]:
        major, minor = ctypes.c_int(), ctypes.c_int()
        assert self._library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)) == 0
        return major.value, minor.value

    def compile(self, text: str, arch: str) -> Report:
        """The report of the kernel in `text`, compiled as the runtime compiles it."""
        program = ctypes.c_void_p()
        create = self._library.nvrtcCreateProgram
        assert create(ctypes.byref(program), text.encode(), b"k.cu", 0, None, None) == 0
        flags = [f"--gpu-architecture=sm_{arch}", "--std=c++20", f"-I{INCLUDE}"]
        flags += ["--ptxas-options=-v", "--ptxas-options=--register-usage-level=10"]
        if self._version() >= (12, 9):
            flags.append("--no-cache")  # what comes from NVRTC's own cache has no log
        options = (ctypes.c_char_p * len(flags))(*[flag.encode() for flag in flags])
        result = self._library.nvrtcCompileProgram(program, len(flags), options)
        log = self._text(program, "ProgramLog").rstrip(b"\0").decode()
        assert result == 0, f"arch {arch}:\n{text}\n{log}"
        self._library.nvrtcDestroyProgram(ctypes.byref(program))

        def number(pattern: str) -> int:
            found = re.search(pattern, log)
            assert found, log
            return int(found[1])

        spills = number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads")
        return Report(
            number(r"Used (\d+) registers"), spills, number(r"(\d+) bytes stack frame"), log
        )


def nvrtc_or_skip() -> Nvrtc:
    """NVRTC of this machine; skips the test with the reason where there is none."""
    library = _load()
    if library is None:
        pytest.skip(
            "not fetched: libnvrtc.so of CUDA 12 or 13, neither by DJ_JIT_NVRTC_LIBRARY, "
            "under nvidia/*/lib, in CUDA_HOME nor in /usr/local"
        )
    return Nvrtc(library)
