"""Einsums on consumer Blackwell: compiled here, run where there is one."""

import pytest

from tests.support.generation import assert_compiles, assert_runs, on_generation
from tests.support.nvrtc import Nvrtc, nvrtc_or_skip

NAMES = ["einsum", "fp8_einsum"]


@pytest.fixture(scope="module")
def nvrtc() -> Nvrtc:
    return nvrtc_or_skip()


@pytest.mark.parametrize("name", NAMES)
def test_kernels_compile_without_spills(name: str, nvrtc: Nvrtc) -> None:
    assert_compiles(name, "120", nvrtc)


@on_generation(12)
@pytest.mark.parametrize("name", NAMES)
def test_on_the_device(name: str) -> None:
    assert_runs(name)
