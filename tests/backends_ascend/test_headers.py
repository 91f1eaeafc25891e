"""The Ascend headers by themselves: what they include, and deaf to the macros of torch."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import ascend_build

HOUSE = ascend_build.ROOT / "backends_ascend/include"
HEADERS = sorted(path.relative_to(HOUSE).as_posix() for path in HOUSE.rglob("*.hpp"))


def preprocessed(header: str, *defines: str) -> str:
    command = [ascend_build.CXX, "-std=c++20", "-E", "-P", *ascend_build.INCLUDES, *defines]
    command += ["-isystem", str(ascend_build.acl_headers()), "-x", "c++", "-"]
    source = f"#include <{header}>\n"
    done = subprocess.run(command, input=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_there_are_headers_to_judge() -> None:
    assert "deep_jit/backend/ascend/backend.hpp" in HEADERS


@pytest.mark.parametrize("macro", ["USE_CUDA", "TORCH_TARGET_VERSION=0x020a000000000000"])
def test_macros_for_torchs_headers_change_no_token_of_the_back_end(macro: str) -> None:
    header = "deep_jit/backend/ascend/backend.hpp"
    assert preprocessed(header, f"-D{macro}") == preprocessed(header)


def test_no_header_includes_torch_python_or_cuda() -> None:
    for header in HEADERS:
        text = (HOUSE / header).read_text()
        included = re.findall(r"#\s*include\s*[<\"]([^>\"]+)", text)
        bad = [name for name in included if re.match(r"torch|ATen|c10|Python|pybind|cuda", name)]
        assert bad == [], header
