"""Scale layouts: values, shapes and every stride against their written definition."""

import itertools

import pytest
import torch

import deep_gemm
from deep_gemm import errors
from deep_gemm.utils import layout


def powers(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    exponents = torch.randint(1, 255, shape, generator=generator, dtype=torch.int32)
    return (exponents << 23).view(torch.float32)


def packed_by_hand(sf: torch.Tensor) -> torch.Tensor:
    """[rows, columns] to [rows, words], one byte at a time."""
    rows, columns = sf.shape
    bits = sf.contiguous().view(torch.int32).tolist()
    words = -(-columns // 4)
    out = [[0] * words for _ in range(rows)]
    for r, c in itertools.product(range(rows), range(columns)):
        out[r][c // 4] |= (bits[r][c] >> 23) << 8 * (c % 4)
    signed = [[w - 2**32 if w >= 2**31 else w for w in row] for row in out]
    return torch.tensor(signed, dtype=torch.int32).view(rows, words)


@pytest.mark.parametrize(
    ("x", "size", "want"), [(5, 4, 8), (8, 4, 8), (1, 1, 16), (17, 2, 24), (0, 4, 0)]
)
def test_tma_aligned_size_fills_sixteen_bytes(x: int, size: int, want: int) -> None:
    assert layout.get_tma_aligned_size(x, size) == want


def test_mn_major_vector_of_the_contract() -> None:
    sf = torch.arange(15.0).view(5, 3)
    out = layout.get_mn_major_tma_aligned_tensor(sf)
    assert out.stride() == (1, 8) and torch.equal(out, sf)
    assert out.as_strided((24,), (1,))[10] == sf[2, 1]


@pytest.mark.parametrize("groups", [None, 1, 3])
@pytest.mark.parametrize("mn", [1, 4, 5, 130])
@pytest.mark.parametrize("columns", [1, 7])
def test_mn_major_values_and_strides(groups: int | None, mn: int, columns: int) -> None:
    shape = (mn, columns) if groups is None else (groups, mn, columns)
    sf = torch.rand(shape, generator=torch.Generator().manual_seed(5))
    out = layout.get_mn_major_tma_aligned_tensor(sf)
    aligned = -(-mn // 4) * 4
    assert out.stride() == (columns * aligned, 1, aligned)[-len(shape) :]
    assert torch.equal(out, sf)
    again = layout.get_mn_major_tma_aligned_tensor(out)
    assert again.data_ptr() == out.data_ptr(), "an aligned scale is returned without a copy"
    assert again.shape == out.shape and again.stride() == out.stride()


def test_mn_major_accepts_any_strides() -> None:
    base = torch.rand(40, 9, generator=torch.Generator().manual_seed(6))
    for sf in (base[:7], base.t(), base[::2], base[:, 1:5], base[3:4], base[:, :1]):
        out = layout.get_mn_major_tma_aligned_tensor(sf)
        assert torch.equal(out, sf) and out.stride() == (1, -(-sf.size(0) // 4) * 4)


def test_mn_major_copies_when_the_address_is_not_aligned() -> None:
    storage = torch.rand(100, generator=torch.Generator().manual_seed(7))
    sf = storage.as_strided((4, 3), (1, 4), 1)
    out = layout.get_mn_major_tma_aligned_tensor(sf)
    assert out.data_ptr() != sf.data_ptr() and torch.equal(out, sf)


def test_mn_major_result_keeps_its_storage_alive() -> None:
    out = layout.get_mn_major_tma_aligned_tensor(
        layout.get_mn_major_tma_aligned_tensor(torch.full((5, 3), 2.0))
    )
    torch.full((64, 64), 9.0)
    assert torch.equal(out, torch.full((5, 3), 2.0))


def test_packed_vectors_of_the_contract() -> None:
    pack = layout.get_mn_major_tma_aligned_packed_ue8m0_tensor
    out = pack(torch.tensor([[1.0, 2.0, 0.5, 4.0, 0.25]]))
    assert out.tolist() == [[-2122416001, 0x7D]]
    assert pack(torch.ones(1, 4)).tolist() == [[0x7F7F7F7F]]
    assert pack(torch.ones(1, 1)).tolist() == [[0x7F]]


@pytest.mark.parametrize("mn", [1, 4, 33, 130])
@pytest.mark.parametrize("columns", [1, 4, 5, 57])
def test_packed_values_and_strides(mn: int, columns: int) -> None:
    sf = powers(mn, columns)
    aligned = -(-mn // 4) * 4
    for source in (sf, sf.t().contiguous().t()):
        out = layout.get_mn_major_tma_aligned_packed_ue8m0_tensor(source)
        assert out.stride() == (1, aligned) and torch.equal(out, packed_by_hand(sf))


def test_packed_groups_are_apart() -> None:
    sf = powers(3, 7, 6)
    out = layout.get_mn_major_tma_aligned_packed_ue8m0_tensor(sf)
    assert out.stride() == (16, 1, 8)
    for group in range(3):
        assert torch.equal(out[group], packed_by_hand(sf[group]))


@pytest.mark.parametrize("bad", [0.3, -1.0, float("nan"), 1e-40])
def test_packing_refuses_a_scale_it_would_have_to_round(bad: float) -> None:
    sf = torch.ones(4, 8)
    sf[2, 5] = bad
    with pytest.raises(errors.InvalidArgument, match=r"SCALE_POWER_OF_TWO(.|\n)*Fix:"):
        layout.get_mn_major_tma_aligned_packed_ue8m0_tensor(sf)


def test_psum_packs_group_rows_and_zeroes_the_rest_whatever_it_holds() -> None:
    sf = powers(300, 5)
    want = packed_by_hand(sf)
    want[100:128] = 0
    want[260:] = 0
    sf[100:128] = float("nan")
    sf[260:] = 0.3
    ends = torch.tensor([100, 260], dtype=torch.int32)
    out = layout.get_mn_major_tma_aligned_packed_ue8m0_tensor(sf, ends)
    assert torch.equal(out, want)


def test_psum_with_empty_groups() -> None:
    sf = powers(400, 4)
    want = packed_by_hand(sf)
    want[1:128] = 0
    want[129:] = 0
    ends = torch.tensor([0, 1, 128, 129], dtype=torch.int32)
    assert torch.equal(layout.get_mn_major_tma_aligned_packed_ue8m0_tensor(sf, ends), want)
    none = torch.zeros(4, dtype=torch.int32)
    assert not bool(layout.get_mn_major_tma_aligned_packed_ue8m0_tensor(sf, none).any())


def k_grouped_by_hand(sf: torch.Tensor, rows: list[int]) -> torch.Tensor:
    parts, start = [], 0
    for count in rows:
        parts.append(packed_by_hand(sf[start : start + count].t()).t())
        start += count
    return torch.cat(parts)


@pytest.mark.parametrize(
    "ks", [[640, 384], [128], [0, 256, 0, 896], [128, 0], [4096, 128, 2048]], ids=str
)
@pytest.mark.parametrize("gran_k", [32, 128])
def test_k_grouped_packing(ks: list[int], gran_k: int) -> None:
    rows = [-(-k // gran_k) for k in ks]
    sf = powers(sum(rows), 12)
    sizes = torch.tensor(ks, dtype=torch.int32)
    pack = layout.get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor
    out = pack(sf, sizes, ks, gran_k)
    assert torch.equal(out, k_grouped_by_hand(sf, rows)) and out.is_contiguous()
    assert torch.equal(pack(sf, sizes, gran_k=gran_k, ks=ks, k_alignment=128), out)


def test_k_grouped_vector_of_the_contract() -> None:
    sf = powers(8, 4)
    out = layout.get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor(
        sf, torch.tensor([640, 384], dtype=torch.int32), [640, 384], 128, 128
    )
    exponents = sf.view(torch.int32) >> 23
    assert out.shape == (3, 4)
    assert torch.equal(out[1], exponents[4])
    assert torch.equal(out[2], exponents[5] | exponents[6] << 8 | exponents[7] << 16)


@pytest.mark.parametrize("aligned_rows", [False, True], ids=["real-rows", "aligned-rows"])
def test_k_grouped_psum_without_host_sizes(aligned_rows: bool) -> None:
    ends = torch.tensor([200, 256, 700], dtype=torch.int32)
    ks = [256, 0, 512] if aligned_rows else [200, 0, 444]
    rows = [-(-k // 32) for k in ks]
    sf = powers(sum(rows), 8)
    out = layout.get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor(
        sf, ends, None, 32, 128, True
    )
    want = k_grouped_by_hand(sf, rows)
    assert out.shape == ((sum(rows) + 9) // 4, 8)
    assert torch.equal(out[: want.size(0)], want)


def test_k_grouped_without_sizes_needs_psum() -> None:
    with pytest.raises(errors.InvalidArgument, match="K_GROUPED_SIZES"):
        layout.get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor(
            torch.ones(2, 4), torch.tensor([256], dtype=torch.int32), None, 128, 128
        )


def test_k_grouped_of_nothing_is_empty() -> None:
    out = layout.get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor(
        torch.empty(0, 16), torch.tensor([0], dtype=torch.int32), [0], 128, 128
    )
    assert out.shape == (0, 16) and out.dtype == torch.int32


def test_transform_of_activation_scales_is_mn_major() -> None:
    sf = torch.rand(5, 7, generator=torch.Generator().manual_seed(8))
    for recipe, is_sfa in (((1, 128, 128), True), ((1, 128), None)):
        out = deep_gemm.transform_sf_into_required_layout(sf, 5, 896, recipe, None, is_sfa)
        assert out.stride() == (1, 8) and torch.equal(out, sf)


def test_transform_of_block_scales_returns_them() -> None:
    sf = torch.rand(3, 17, 7)
    out = deep_gemm.transform_sf_into_required_layout(
        sf=sf, mn=2112, k=896, recipe=(1, 128, 128), num_groups=3, is_sfa=False,
        disable_ue8m0_cast=True,
    )  # fmt: skip
    assert out is sf
    column_major = torch.rand(7, 17).t()
    assert deep_gemm.transform_sf_into_required_layout(
        column_major, 2112, 896, [128, 128]
    ) is column_major  # fmt: skip


def test_transform_checks_packed_scales_and_returns_them() -> None:
    packed = layout.get_mn_major_tma_aligned_packed_ue8m0_tensor(powers(6, 8))
    assert deep_gemm.transform_sf_into_required_layout(packed, 6, 1024, (1, 128)) is packed
    with pytest.raises(errors.InvalidArgument, match="SCALE_PACKED_LAYOUT"):
        deep_gemm.transform_sf_into_required_layout(packed.contiguous(), 6, 1024, (1, 128))


@pytest.mark.parametrize(
    ("recipe", "is_sfa"), [((1, 128, 128), None), ((1, 128), True), ((128,), None)]
)
def test_transform_refuses_a_recipe_of_the_wrong_form(recipe: tuple, is_sfa: bool | None) -> None:
    with pytest.raises(errors.InvalidArgument, match="RECIPE_FORM"):
        deep_gemm.transform_sf_into_required_layout(torch.ones(4, 1), 4, 128, recipe, None, is_sfa)


def test_transform_refuses_a_wrong_shape_and_says_the_right_one() -> None:
    with pytest.raises(errors.InvalidArgument, match=r"\(4, 2\)"):
        deep_gemm.transform_sf_into_required_layout(torch.ones(4, 3), 4, 256, (1, 128))


def test_transform_of_one_row_accepts_any_stride() -> None:
    sf = torch.ones(1, 14).as_strided((1, 7), (99999, 2))
    out = deep_gemm.transform_sf_into_required_layout(sf, 1, 896, (1, 128))
    assert out.stride() == (1, 4)


def test_alignment_setters_and_their_other_names() -> None:
    assert deep_gemm.get_mk_alignment_for_contiguous_layout() == 128
    try:
        deep_gemm.set_mk_alignment_for_contiguous_layout(64)
        assert deep_gemm.get_m_alignment_for_contiguous_layout() == 64
        assert deep_gemm.get_k_alignment_for_contiguous_layout() == 64
        assert deep_gemm.get_mk_alignment_for_contiguous_layout() == 64
    finally:
        deep_gemm.set_mk_alignment_for_contiguous_layout(128)


def test_theoretical_alignment_takes_every_form_of_call() -> None:
    theory = deep_gemm.get_theoretical_mk_alignment_for_contiguous_layout
    answers = [theory(), theory(7), theory(700, 8), theory(expected_m=9), theory(num_groups=3)]
    assert all(0 < answer <= 256 for answer in answers)
