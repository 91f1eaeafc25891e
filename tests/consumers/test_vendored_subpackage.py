"""The package inside another one, under another name, as engines vendor it: docs/embedding.md."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.packaging import wheels

PLACE = "engine/third_party/matmul"
NAME = "engine.third_party.matmul"

MULTIPLY = """
def check(package):
    a, b = torch.randn(5, 48).bfloat16(), torch.randn(17, 48).bfloat16()
    d = torch.empty(5, 17)
    package.bf16_gemm_nt(a, b, d)
    assert torch.allclose(d, a.float() @ b.float().t(), atol=1e-2)
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site folder with the package both as deep_gemm and inside `engine`."""
    site = wheels.unpacked(tmp_path_factory.mktemp("engine"))
    target = site / PLACE
    target.parent.mkdir(parents=True)
    for folder in (target.parents[1], target.parent):
        (folder / "__init__.py").touch()
    shutil.copytree(site / "deep_gemm", target)
    return site


def run(site: Path, code: str) -> str:
    done = wheels.run_python(site, code, DG_JIT_CACHE_DIR=str(site.parent / "cache"))
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.strip()


def test_it_works_under_another_name_without_the_published_one(
    engine: Path, tmp_path: Path
) -> None:
    alone = tmp_path / "alone"
    shutil.copytree(engine / "engine", alone / "engine")
    code = f"""
import sys, torch
import {NAME} as vendored
{MULTIPLY}
check(vendored)
assert "deep_gemm" not in sys.modules
assert vendored.errors.Unsupported.__module__ == "{NAME}.errors"
ok, why = vendored.supports("bf16_gemm_nt")
assert ok, why
print(vendored.__file__)
"""
    assert run(alone, code) == str(alone / PLACE / "__init__.py")


def test_it_lives_beside_the_published_package_in_one_process(engine: Path) -> None:
    code = f"""
import torch, deep_gemm
import {NAME} as vendored
{MULTIPLY}
for package in (vendored, deep_gemm, vendored):
    check(package)
assert vendored.bf16_gemm_nt is not deep_gemm.bf16_gemm_nt
assert vendored.errors.Error is not deep_gemm.errors.Error
for package in (vendored, deep_gemm):
    try:
        package.bf16_gemm_nt(torch.ones(2, 3), torch.ones(2, 3), torch.empty(2, 2))
    except package.errors.InvalidArgument:
        pass
    else:
        raise AssertionError("not refused")
print("both")
"""
    assert run(engine, code) == "both"


def test_its_command_line_goes_by_its_own_name(engine: Path) -> None:
    code = f"""
import runpy, sys
sys.argv = ["x", "supports", "bf16_gemm_nt", "--m", "2", "--n", "3", "--k", "4"]
try:
    runpy.run_module("{NAME}", run_name="__main__", alter_sys=True)
except SystemExit as end:
    assert end.code == 0
"""
    assert run(engine, code) == "yes"
