"""Every kernel of expert choice compiles for every arch, without spills."""

import pytest
import torch

import deep_gemm
from tests.support.nvrtc import Nvrtc, nvrtc_or_skip


@pytest.fixture(scope="module")
def nvrtc() -> Nvrtc:
    return nvrtc_or_skip()


@pytest.mark.parametrize("arch", ["80", "86", "89", "90a", "100", "103", "120"])
@pytest.mark.parametrize("experts", [8, 64, 128, 256, 512])
def test_kernels_compile_without_spills(experts: int, arch: str, nvrtc: Nvrtc) -> None:
    x, weight = (torch.empty(n, 256, dtype=torch.bfloat16, device="meta") for n in (64, experts))
    plan = deep_gemm.plan("bf16_mega_gate", x, weight, 6, False, 0, 1.0, 0, arch=arch)
    assert f"experts a lane {-(-experts // 32)} " in plan["plan"]
    report = nvrtc.compile(plan["source"], arch)
    assert report.spill_bytes == 0, f"{arch} {plan['plan']}: {report.log}"
