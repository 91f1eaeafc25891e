"""FP8 and FP4 GEMMs on consumer Blackwell: compiled here, run where there is one."""

import pytest

from deep_gemm._fake import FAKES
from tests.support.generation import assert_compiles, assert_runs, on_generation
from tests.support.nvrtc import Nvrtc, nvrtc_or_skip
from tests.support.operators import SAMPLES

NAMES = [
    name
    for name in sorted(SAMPLES)
    if name.startswith(("fp8_gemm_", "fp8_fp4_gemm_", "fp4_")) and name in FAKES
]


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
