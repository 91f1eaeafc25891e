"""Quantisers and packing against hand-computed values and the definition of each format."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import deep_gemm
from deep_gemm.utils import math


def per_448(x: float) -> float:
    """x times the float32 nearest to 1/448, rounded to float32: the scale of a maximum x."""
    return float(torch.tensor(x) * (torch.tensor(1.0) / torch.tensor(448.0)))


def all_float32_exponents() -> torch.Tensor:
    return torch.arange(256, dtype=torch.int32)


def test_ceil_to_ue8m0_keeps_powers_of_two_and_rounds_others_up() -> None:
    x = torch.tensor([1.0, 1.5, 2.0, 0.3, -3.0, 448.0, 1e-40, 0.0])
    want = torch.tensor([1.0, 2.0, 2.0, 0.5, 4.0, 512.0, 2.0**-126, 2.0**-126])
    assert torch.equal(math.ceil_to_ue8m0(x), want)


def test_ceil_to_ue8m0_of_every_power_of_two_is_itself() -> None:
    x = (all_float32_exponents()[1:255] << 23).view(torch.float32)
    assert torch.equal(math.ceil_to_ue8m0(x), x)


def test_ceil_to_ue8m0_never_exceeds_the_largest_power_of_two() -> None:
    x = torch.tensor([3.4e38, float("inf")])
    assert torch.equal(math.ceil_to_ue8m0(x), torch.full((2,), 2.0**127))


def test_pack_ue8m0_is_little_endian() -> None:
    x = torch.tensor([[1.0, 2.0, 0.5, 4.0]])
    assert math.pack_ue8m0_to_int(x).tolist() == [[-2122416001]]


def test_unpack_ue8m0_inverts_pack_for_every_exponent() -> None:
    x = (all_float32_exponents() << 23).view(torch.float32).view(4, 64)
    back = math.unpack_ue8m0_from_int(math.pack_ue8m0_to_int(x))
    assert torch.equal(back.view(torch.int32), x.view(torch.int32))


@pytest.mark.parametrize(
    "x",
    [
        torch.tensor([1.0, 1.5, 1.0, 1.0]),
        torch.tensor([1.0, -1.0, 1.0, 1.0]),
        torch.ones(3),
        torch.ones(4, dtype=torch.float64),
    ],
    ids=["mantissa", "sign", "length", "dtype"],
)
def test_pack_ue8m0_refuses_what_it_cannot_hold(x: torch.Tensor) -> None:
    with pytest.raises(AssertionError):
        math.pack_ue8m0_to_int(x)


def test_a_scale_is_amax_times_the_float32_nearest_to_one_over_448() -> None:
    x = torch.rand(512, 128, generator=torch.Generator().manual_seed(3)) + 0.5
    _, sf = math.per_token_cast_to_fp8(x, use_ue8m0=False)
    assert sf.flatten().tolist() == [per_448(value) for value in x.amax(1).tolist()]
    assert not torch.equal(sf, x.amax(1, keepdim=True) / 448)  # what a CPU would make of a division


def test_per_token_scale_is_amax_over_448_and_data_uses_the_reciprocal() -> None:
    x = torch.zeros(2, 200)
    x[0, 3], x[0, 150], x[1, 0] = 7.0, -448.0, 1.0
    data, sf = math.per_token_cast_to_fp8(x, use_ue8m0=False)
    assert data.shape == (2, 200) and data.is_contiguous()
    want = torch.tensor([[7.0 / 448, 1.0], [1.0 / 448, 1e-4 / 448]])
    assert torch.equal(sf, want)
    assert data[0, 3].float() == 448.0 and data[0, 150].float() == -448.0
    assert torch.equal(math.cast_back_from_fp8(data, sf)[0, 150], torch.tensor(-448.0))


def test_per_token_cast_of_bfloat16_scales_in_float32() -> None:
    x = torch.randn(3, 256, generator=torch.Generator().manual_seed(1)).bfloat16()
    data, sf = math.per_token_cast_to_fp8(x, use_ue8m0=False)
    want = (x.float().view(3, 2, 128) * (1.0 / sf).unsqueeze(2)).to(torch.float8_e4m3fn)
    assert torch.equal(data.view(torch.uint8), want.view(3, 256).view(torch.uint8))


def test_packed_scales_pad_the_last_word_with_one() -> None:
    _, sf = math.per_token_cast_to_fp8(
        torch.full((1, 128), 448.0), use_ue8m0=True, use_packed_ue8m0=True
    )
    assert sf.dtype == torch.int32 and sf.tolist() == [[0x7F7F7F7F]]


def test_packed_scales_need_powers_of_two() -> None:
    with pytest.raises(AssertionError, match="use_ue8m0"):
        math.per_token_cast_to_fp8(torch.ones(1, 512), use_ue8m0=False, use_packed_ue8m0=True)


def test_per_block_scales_cover_128_by_128_with_short_edges() -> None:
    x = torch.zeros(130, 129)
    x[0, 0], x[129, 0], x[0, 128], x[129, 128] = 1.0, 2.0, 4.0, 8.0
    data, sf = math.per_block_cast_to_fp8(x, use_ue8m0=False)
    assert torch.equal(sf, torch.tensor([[1.0, 4.0], [2.0, 8.0]]) / 448)
    assert data.shape == (130, 129) and data.is_contiguous()
    assert [data[i, j].float().item() for i, j in ((0, 0), (129, 128))] == [448.0, 448.0]


def test_per_channel_groups_rows() -> None:
    x = torch.ones(256, 3)
    x[200, 1] = 100.0
    data, sf = math.per_channel_cast_to_fp8(x, use_ue8m0=False)
    assert sf.shape == (2, 3) and sf[1, 1] == per_448(100.0) and sf[0, 1] == per_448(1.0)
    assert data[200, 1].float() == 448.0


def test_custom_dims_reduce_over_all_others() -> None:
    x = torch.ones(4, 5, 6)
    x[2, 1, 3] = -9.0
    data, sf = math.per_custom_dims_cast_to_fp8(x, (0,), use_ue8m0=False)
    assert sf.shape == (4,) and sf[2] == per_448(9.0) and sf[0] == per_448(1.0)
    assert data[2, 1, 3].float() == -448.0


def fp4_codes(values: list[float], ties: str) -> list[int]:
    # A maximum of 6 makes the scale exactly 1.
    x = torch.tensor([[*values, 6.0, 6.0]])
    packed, sf = math.per_token_cast_to_fp4(x, use_ue8m0=False, ties=ties)
    assert sf.item() == 1.0
    raw = packed.view(torch.uint8)[0].tolist()
    return [nibble for byte in raw for nibble in (byte & 15, byte >> 4)][: len(values)]


TIES = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 0.0]


def test_fp4_ties_go_to_the_even_code_by_default() -> None:
    assert fp4_codes(TIES, "even") == [0, 2, 2, 4, 4, 6, 6, 0]


def test_fp4_ties_can_go_to_the_smaller_magnitude() -> None:
    assert fp4_codes(TIES, "smaller") == [0, 1, 2, 3, 4, 5, 6, 0]


def test_fp4_packs_the_even_index_low_and_the_sign_in_bit_3() -> None:
    packed, _ = math.per_token_cast_to_fp4(torch.tensor([[0.5, -1.5, 6.0, 0.3]]), use_ue8m0=False)
    assert packed.dtype == torch.int8 and packed.tolist() == [[-79, 23]]


def test_fp4_never_emits_negative_zero() -> None:
    assert fp4_codes([-0.0, -0.1, -0.25, -0.3], "even") == [0, 0, 0, 9]


def test_fp4_decodes_every_code() -> None:
    codes = torch.arange(256, dtype=torch.uint8).view(torch.int8).view(16, 16)
    back = math.cast_back_from_fp4(codes, torch.ones(16, 1))
    table = [0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6]
    want = torch.tensor([[table[b & 15], table[b >> 4]] for b in range(256)]).view(16, 32)
    assert torch.equal(back, want)
    assert not bool(torch.signbit(back[back == 0]).any()), "negative zero reads as +0"


def test_transpose_packed_fp4_transposes_logical_values() -> None:
    x = torch.randint(0, 256, (6, 5), generator=torch.Generator().manual_seed(2))
    a = x.to(torch.uint8).view(torch.int8)
    ones = torch.ones(6, 1)
    values = math.cast_back_from_fp4(a, ones)
    back = math.cast_back_from_fp4(math.transpose_packed_fp4(a), torch.ones(10, 1))
    assert torch.equal(back, values.t())
    assert torch.equal(math.transpose_packed_fp4(math.transpose_packed_fp4(a)), a)


def test_ue4m3_scales_survive_packing() -> None:
    codes = torch.arange(1, 127, dtype=torch.uint8)
    values = codes.view(torch.float8_e4m3fn).float()
    assert torch.equal(math.cast_to_ue4m3(values), values)
    words = math.pack_ue4m3_to_int(values[:124].view(1, 124))
    assert torch.equal(math.unpack_ue4m3_from_int(words), values[:124].view(1, 124))


def test_nvfp4_round_trip_stays_within_its_grid() -> None:
    x = torch.randn(4, 64, generator=torch.Generator().manual_seed(3))
    packed, sf = math.per_token_cast_to_nvfp4(x)
    assert packed.shape == (4, 32) and sf.shape == (4, 4)
    back = math.cast_back_from_fp4(packed, sf, gran_k=16)
    assert float((back - x).abs().max()) <= float(sf.max()) * 1.01


def test_transform_ue4m3_pads_rows_to_sixteen_bytes() -> None:
    sf = math.cast_to_ue4m3(torch.rand(5, 6, generator=torch.Generator().manual_seed(4)) + 0.1)
    words = math.transform_ue4m3_sf_into_required_layout(sf, 5)
    assert words.shape == (5, 2) and words.stride() == (1, 8)
    assert torch.equal(math.unpack_ue4m3_from_int(words)[:, :6], sf)


@settings(deadline=None, max_examples=40)
@given(
    m=st.integers(0, 9),
    n=st.integers(0, 300),
    gran_k=st.sampled_from([16, 32, 64, 128]),
    use_ue8m0=st.booleans(),
    exponent=st.integers(-20, 20),
)
def test_fp8_round_trip_error_is_below_one_step(
    m: int, n: int, gran_k: int, use_ue8m0: bool, exponent: int
) -> None:
    x = torch.randn(m, n, generator=torch.Generator().manual_seed(m * 1000 + n)) * 2.0**exponent
    data, sf = math.per_token_cast_to_fp8(x, use_ue8m0, gran_k)
    assert sf.shape == (m, math.ceil_div(n, gran_k))
    back = math.cast_back_from_fp8(data, sf, gran_k)
    # E4M3 keeps 4 significant bits; below its normals the step is 2**-9 of a unit.
    step = sf.repeat_interleave(gran_k, 1)[:, :n] * 2.0**-9
    assert bool(((back - x).abs() <= x.abs() * 2.0**-4 * 1.001 + step).all())


@settings(deadline=None, max_examples=40)
@given(m=st.integers(0, 6), half=st.integers(0, 80), gran_k=st.sampled_from([16, 32, 128]))
def test_fp4_round_trip_is_exact_on_its_own_grid(m: int, half: int, gran_k: int) -> None:
    raw = torch.randint(0, 256, (m, half), generator=torch.Generator().manual_seed(m * 100 + half))
    packed = raw.to(torch.uint8).view(torch.int8)
    values = math.cast_back_from_fp4(packed, torch.ones(m, math.ceil_div(2 * half, gran_k)), gran_k)
    again, sf = math.per_token_cast_to_fp4(values, use_ue8m0=True, gran_k=gran_k)
    back = math.cast_back_from_fp4(again, sf, gran_k)
    full = values.abs().unfold(1, gran_k, gran_k).amax(2) if 2 * half >= gran_k else None
    if full is not None and bool((full == 6).all()) and 2 * half % gran_k == 0:
        assert torch.equal(back, values)
    assert again.shape == packed.shape


def test_helpers_are_published_at_the_top_level_too() -> None:
    for name in deep_gemm.utils.__all__:
        assert getattr(deep_gemm, name) is getattr(deep_gemm.utils, name)
