"""The legacy module against float64 loops: gathered rows, padding, accumulation."""

import pytest
import torch

import deep_gemm
from deep_gemm import legacy
from deep_gemm.testing import calc_diff
from tests.support.devices import DEVICES


def randn(*shape: int, device: str, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator).bfloat16().to(device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("letters", ["nt", "nn"])
def test_groups_along_m(letters: str, fused: bool, device: str) -> None:
    groups, n, k = 3, 96, 160
    labels = torch.tensor([0] * 128 + [2] * 100 + [-1] * 28 + [1] * 128, dtype=torch.int32)
    m = labels.numel()
    a = randn(70 if fused else m, k, device=device, seed=1)
    b = randn(groups, *((n, k) if letters == "nt" else (k, n)), device=device, seed=2)
    d = torch.full((m, n), torch.nan, dtype=torch.bfloat16, device=device)
    rows = torch.arange(m) % 70
    rows[labels < 0] = -1
    if fused:
        name = f"a_fused_m_grouped_bf16_gemm_{letters}_contiguous_tl"
        mappings = labels.to(device), rows.int().to(device)
        getattr(legacy, name)(a, b, d, mappings)
    else:
        name = f"m_grouped_bf16_gemm_{letters}_contiguous_tl"
        getattr(legacy, name)(a, b, d, labels.to(device))
    source = a[rows.clamp(min=0).to(device)] if fused else a
    keep = (labels >= 0).to(device)
    weights = b[labels.clamp(min=0).long().to(device)].double()
    weights = weights.transpose(1, 2) if letters == "nt" else weights
    want = torch.bmm(source.double().unsqueeze(1), weights).squeeze(1)
    assert calc_diff(d[keep], want[keep]) < 1e-5


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("acc", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("side", ["a", "b"])
def test_groups_along_k(side: str, dtype: torch.dtype, acc: bool, device: str) -> None:
    m, n = 64, 72
    sizes = [128, 0, 37, 200]
    start = torch.tensor([0, 128, 128, 256], dtype=torch.int32)  # one gap, one empty group
    end = start + torch.tensor(sizes, dtype=torch.int32)
    total = int(end.max())
    indices = (torch.arange(total) * 7 % 50).int()
    fused, plain = randn(50, m if side == "a" else n, device=device, seed=1), None
    plain = randn(total, n if side == "a" else m, device=device, seed=2)
    a, b = (fused, plain) if side == "a" else (plain, fused)
    d = randn(4, m, n, device=device, seed=3).to(dtype)
    want = d.double() if acc else torch.zeros(4, m, n, dtype=torch.float64, device=device)
    for group in range(4):
        rows = torch.arange(int(start[group]), int(end[group]), device=device)
        at = indices.long().to(device)[rows]
        lhs, rhs = (a[at], b[rows]) if side == "a" else (a[rows], b[at])
        want[group] += lhs.double().t() @ rhs.double()
    handle = tuple(x.to(device) for x in (indices, start, end))
    getattr(legacy, f"{side}_fused_k_grouped_bf16_gemm_tn_contiguous_tl")(a, b, d, handle, acc)
    assert calc_diff(d, want) < (1e-10 if dtype == torch.float32 else 1e-5)


def test_the_module_is_an_attribute_of_the_package() -> None:
    assert deep_gemm.legacy is legacy
    assert legacy.__all__ == [
        "a_fused_k_grouped_bf16_gemm_tn_contiguous_tl",
        "a_fused_m_grouped_bf16_gemm_nn_contiguous_tl",
        "a_fused_m_grouped_bf16_gemm_nt_contiguous_tl",
        "b_fused_k_grouped_bf16_gemm_tn_contiguous_tl",
        "m_grouped_bf16_gemm_nn_contiguous_tl",
        "m_grouped_bf16_gemm_nt_contiguous_tl",
    ]
