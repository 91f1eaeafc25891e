"""cublaslt_gemm_*, batched_syrk, batched_symm and fp8_gemm_nt_skip_head_mid."""

import pytest
import torch

import deep_gemm
from deep_gemm import errors, reference
from deep_gemm.testing import calc_diff
from deep_gemm.utils import per_block_cast_to_fp8, per_token_cast_to_fp8
from tests.support.devices import DEVICES

DTYPES = [
    (torch.bfloat16, torch.bfloat16),
    (torch.bfloat16, torch.float32),
    (torch.float32, torch.float32),
    (torch.float16, torch.float32),
    (torch.float8_e4m3fn, torch.bfloat16),
]


def randn(shape: tuple[int, ...], dtype: torch.dtype, device: str, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator).to(device).to(dtype)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("dtypes", DTYPES, ids=str)
@pytest.mark.parametrize("layout", ["nt", "nn", "tn", "tt"])
def test_vendor_product(layout: str, dtypes: tuple, accumulate: bool, device: str) -> None:
    m, n, k = 48, 80, 144
    operand, out = dtypes
    a = randn((m, k) if layout[0] == "n" else (k, m), operand, device, 1)
    b = randn((n, k) if layout[1] == "t" else (k, n), operand, device, 2)
    lhs = (a if layout[0] == "n" else a.t()).double()
    want = lhs @ (b.t() if layout[1] == "t" else b).double()
    wide = torch.full((m, n + 16), -3.0, dtype=out, device=device)
    d = wide[:, :n]
    function = getattr(deep_gemm, f"cublaslt_gemm_{layout}")
    if accumulate:
        want = want + d.double()
        function(a, b, d, c=d)
    else:
        function(a, b, d)
    assert calc_diff(d, want) < (1e-5 if out == torch.bfloat16 else 6e-7)
    assert bool((wide[:, n:] == -3).all())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(40, 72), (3, 40, 72)], ids=str)
def test_symmetric_products(shape: tuple[int, ...], device: str) -> None:
    a = randn(shape, torch.bfloat16, device, 1)
    d = torch.empty((*shape[:-1], shape[-2]), dtype=torch.bfloat16, device=device)
    deep_gemm.batched_syrk(a, d)
    assert calc_diff(d, a.double() @ a.double().transpose(-1, -2)) < 1e-5
    out = torch.empty(shape, dtype=torch.bfloat16, device=device)
    deep_gemm.batched_symm(d, a, out)
    assert calc_diff(out, d.double() @ a.double()) < 1e-5


def test_empty_products() -> None:
    d = torch.full((4, 6), 5.0)
    deep_gemm.cublaslt_gemm_nt(torch.empty(4, 0), torch.empty(6, 0), d)
    assert not d.any()
    deep_gemm.cublaslt_gemm_nt(torch.empty(0, 3), torch.empty(6, 3), torch.empty(0, 6))


def test_wrong_shapes_are_refused_by_rule() -> None:
    a, b, d = torch.zeros(4, 8), torch.zeros(6, 8), torch.zeros(4, 6)
    with pytest.raises(errors.InvalidArgument, match="Rule SAME_K"):
        deep_gemm.cublaslt_gemm_nn(a, b, d)
    with pytest.raises(errors.InvalidArgument, match="Rule SHAPE_D"):
        deep_gemm.cublaslt_gemm_nt(a, b, d.t())
    with pytest.raises(errors.InvalidArgument, match="Rule DTYPE_C"):
        deep_gemm.cublaslt_gemm_nt(a, b, d, d.double())
    with pytest.raises(errors.InvalidArgument, match="Rule RANK_MATRIX"):
        deep_gemm.cublaslt_gemm_nt(a[None], b, d)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("splits", [(128, 64, 128), (64, 0, 64), (16, 8, 112)], ids=str)
def test_head_gaps_stay_unwritten(splits: tuple[int, int, int], device: str) -> None:
    left, mid, right = splits
    m, heads, k = 20, 4, 512
    n = heads * (left + right)
    a = per_token_cast_to_fp8(randn((m, k), torch.bfloat16, device, 1), use_ue8m0=False)
    b = per_block_cast_to_fp8(randn((n, k), torch.bfloat16, device, 2), use_ue8m0=False)
    d = torch.full((m, n + heads * mid), -3.0, dtype=torch.bfloat16, device=device)
    deep_gemm.fp8_gemm_nt_skip_head_mid(a, b, d, splits)
    view = d.view(m, heads, left + mid + right)
    want = reference.fp8_gemm(*a, *b).view(m, heads, left + right)
    assert calc_diff(view[..., :left], want[..., :left]) < 1e-5
    assert calc_diff(view[..., left + mid :], want[..., left:]) < 1e-5
    assert bool((view[..., left : left + mid] == -3).all())


def test_head_splits_that_do_not_divide_n_are_refused() -> None:
    a = per_token_cast_to_fp8(torch.ones(4, 128).bfloat16(), use_ue8m0=False)
    b = per_block_cast_to_fp8(torch.ones(200, 128).bfloat16(), use_ue8m0=False)
    d = torch.zeros(4, 250, dtype=torch.bfloat16)
    with pytest.raises(errors.InvalidArgument, match="Rule HEAD_SPLITS"):
        deep_gemm.fp8_gemm_nt_skip_head_mid(a, b, d, (48, 16, 64))
