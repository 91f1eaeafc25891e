"""The references themselves, against products computed by hand and by loops."""

import pytest
import torch

from deep_gemm import reference
from deep_gemm.utils import math
from deep_gemm.utils.layout import get_mn_major_tma_aligned_packed_ue8m0_tensor


def fp8(values: list[list[float]]) -> torch.Tensor:
    return torch.tensor(values).to(torch.float8_e4m3fn)


def test_fp8_gemm_of_two_blocks_by_hand() -> None:
    a = torch.zeros(1, 256)
    a[0, 0], a[0, 128] = 2.0, 3.0
    b = torch.zeros(2, 256)
    b[0, 0], b[0, 128], b[1, 128] = 4.0, 5.0, 7.0
    a_scale = torch.tensor([[0.5, 10.0]])
    b_scale = torch.tensor([[3.0, 100.0]])
    e4m3 = torch.float8_e4m3fn
    got = reference.fp8_gemm(a.to(e4m3), a_scale, b.to(e4m3), b_scale)
    # 2*0.5 * 4*3 + 3*10 * 5*100, and 3*10 * 7*100
    assert got.dtype == torch.float64 and got.tolist() == [[15012.0, 21000.0]]


def test_fp8_gemm_block_scale_follows_the_column() -> None:
    a, b = fp8([[1.0] * 4]), fp8([[1.0] * 4] * 130)
    scale = torch.tensor([[2.0], [5.0]])
    got = reference.fp8_gemm(a, torch.ones(1, 1), b, scale)
    assert got[0, 127] == 8.0 and got[0, 128] == 20.0


def test_fp8_gemm_alpha_and_c() -> None:
    a, b, one = fp8([[2.0]]), fp8([[3.0]]), torch.ones(1, 1)
    c = torch.tensor([[100.0]])
    assert reference.fp8_gemm(a, one, b, one, c, alpha=0.5).item() == 103.0


def test_recipes_say_which_scale_applies() -> None:
    a, b = fp8([[1.0] * 64, [1.0] * 64]), fp8([[1.0] * 64])
    a_scale = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    got = reference.fp8_gemm(
        a, a_scale, b, torch.tensor([[1.0, 10.0]]), recipe_a=(1, 32), recipe_b=(1, 32)
    )
    assert got.flatten().tolist() == [32 * 1 + 32 * 20, 32 * 3 + 32 * 40]
    got = reference.fp8_gemm(a, a_scale[:1, :1], b, torch.ones(1, 1), recipe=(2, 1, 64))
    assert got.flatten().tolist() == [64, 64]


def test_packed_scales_mean_their_exponents() -> None:
    x = torch.randn(6, 512, generator=torch.Generator().manual_seed(1))
    data, sf = math.per_token_cast_to_fp8(x, use_ue8m0=True)
    packed = get_mn_major_tma_aligned_packed_ue8m0_tensor(sf)
    plain = reference.dequantise(data, sf, 1, 128)
    assert torch.equal(reference.dequantise(data, packed, 1, 128), plain)


def test_fp4_operands_are_unpacked_along_their_contiguous_dimension() -> None:
    x = torch.randn(4, 64, generator=torch.Generator().manual_seed(2))
    packed, sf = math.per_token_cast_to_fp4(x, use_ue8m0=True, gran_k=32)
    want = math.cast_back_from_fp4(packed, sf, gran_k=32).double()
    assert torch.equal(reference.dequantise(packed, sf, 1, 32), want)
    mn_major = math.transpose_packed_fp4(packed).t()
    assert torch.equal(reference.dequantise(mn_major, sf, 1, 32), want)


def test_a_scale_that_is_too_small_is_an_error() -> None:
    with pytest.raises(ValueError, match="too small"):
        reference.fp8_gemm(
            fp8([[1.0] * 256]), torch.ones(1, 1), fp8([[1.0] * 256]), torch.ones(1, 2)
        )


def test_bf16_gemm_by_hand() -> None:
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).bfloat16()
    b = torch.tensor([[5.0, 6.0], [7.0, 8.0], [9.0, 10.0]]).bfloat16()
    want = [[17.0, 23.0, 29.0], [39.0, 53.0, 67.0]]
    assert reference.bf16_gemm(a, b).tolist() == want
    c = torch.ones(2, 3)
    assert (reference.bf16_gemm(a, b, c, alpha=2.0) == 2 * torch.tensor(want) + 1).all()


def test_k_zero_gives_zero_or_c() -> None:
    a, b = torch.empty(2, 0).bfloat16(), torch.empty(3, 0).bfloat16()
    assert reference.bf16_gemm(a, b).tolist() == [[0.0] * 3] * 2
    assert (reference.bf16_gemm(a, b, torch.full((2, 3), 7.0)) == 7).all()


def test_float32_references_compute_in_float32() -> None:
    a = torch.randn(3, 8, generator=torch.Generator().manual_seed(3)).bfloat16()
    assert reference.bf16_gemm(a, a, dtype=torch.float32).dtype == torch.float32
