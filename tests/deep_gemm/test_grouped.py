"""GEMMs grouped along m against the float64 reference: layouts, padding, values out of order.

Longer than usual: the two layouts and the masked form share operands and semantics.
"""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import deep_gemm
from deep_gemm import errors
from tests.support.devices import DEVICES
from tests.support.grouped import ALIGNMENT, SENTINEL, Masked, MGrouped, round_up
from tests.support.tolerances import assert_close

SIZES = [
    [128],
    [100],
    [1, 127, 128, 129],
    [0, 130, 0, 5],
    [0, 0, 7],
    [300, 1, 0, 64],
    [64, 64, 64, 64, 64, 64, 64],
]
SHAPES = [(8, 128), (48, 256), (136, 384), (257, 640)]
DTYPES = ["fp8", "bf16", "fp4"]
RECIPES: dict[str, dict[str, Any]] = {
    "fp8": {},
    "bf16": {},
    "fp4": {"recipe_a": (1, 32), "recipe_b": (1, 32)},
}


def contiguous(dtype: str, layout: str = "nt") -> Any:
    return getattr(deep_gemm, f"m_grouped_{dtype}_gemm_{layout}_contiguous")


def masked(dtype: str) -> Any:
    return getattr(deep_gemm, f"m_grouped_{dtype}_gemm_nt_masked")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_index_layout_is_right_and_writes_every_row(
    sizes: list[int], dtype: str, device: str
) -> None:
    for n, k in SHAPES:
        case = MGrouped.make(sizes, n, k, dtype, device, tail=256)
        d = case.d()
        contiguous(dtype)(case.a, case.b, d, case.labels, **RECIPES[dtype])
        case.check(d, f"{sizes} n{n} k{k}")
        assert not bool((d == SENTINEL).any()), "every row is written"
        halves = case.labels.cpu()[::64] < 0
        for half in halves.nonzero().flatten().tolist():
            assert not bool(d[half * 64 : half * 64 + 64].any()), "a half of padding is zero"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_psum_layout_has_the_bits_of_the_index_layout(
    sizes: list[int], dtype: str, device: str
) -> None:
    for n, k in SHAPES:
        case = MGrouped.make(sizes, n, k, dtype, device, tail=256)
        by_index, by_ends, kept = case.d(), case.d(), case.d()
        contiguous(dtype)(case.a, case.b, by_index, case.labels, **RECIPES[dtype])
        psum = {"use_psum_layout": True, **RECIPES[dtype]}
        contiguous(dtype)(case.a, case.b, by_ends, case.ends, **psum)
        case.check(by_ends, f"{sizes} n{n} k{k}")
        valid = case.valid.to(device)
        assert torch.equal(by_index[valid], by_ends[valid])
        end = round_up(int(case.ends[-1]))
        assert bool((by_ends[end:] == SENTINEL).all()), "rows past the last aligned end"
        contiguous(dtype)(
            case.a, case.b, kept, case.ends, ensure_zero_padding=False,
            expected_m_for_psum_layout=7, **psum,
        )  # fmt: skip
        assert torch.equal(kept[valid], by_ends[valid])
        assert bool((kept[end:] == SENTINEL).all())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["fp8", "bf16"])
def test_nn_is_nt_with_b_stored_the_other_way(dtype: str, device: str) -> None:
    case = MGrouped.make([100, 0, 129], 48, 256, dtype, device)
    want, got, view = case.d(), case.d(), case.d()
    contiguous(dtype)(case.a, case.b, want, case.labels)
    if dtype == "bf16":
        other = case.b.transpose(1, 2)
        stored = other.contiguous()
    else:
        other = tuple(x.transpose(1, 2) for x in case.b)
        stored = tuple(x.contiguous() for x in other)
    contiguous(dtype, "nn")(case.a, stored, got, case.labels)
    contiguous(dtype, "nn")(case.a, other, view, case.ends, use_psum_layout=True)
    valid = case.valid.to(device)
    case.check(got, "nn")
    assert torch.equal(view[valid], want[valid])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("counts", [[3], [0, 0, 0], [70, 0, 1, 33], [70] * 5, [1] * 7], ids=str)
def test_masked_touches_counted_rows_alone(counts: list[int], dtype: str, device: str) -> None:
    for n, k in SHAPES:
        case = Masked.make(counts, 70, n, k, dtype, device)
        d = case.d()
        assert masked(dtype)(case.a, case.b, d, case.counts, 70, **RECIPES[dtype]) is None
        case.check(d, f"{counts} n{n} k{k}")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["fp8", "bf16"])
def test_expected_m_never_matters(dtype: str, device: str) -> None:
    case = Masked.make([5, 130, 0], 200, 64, 256, dtype, device)
    results = []
    for expected_m in (0, 1, 64, 128, 100000):
        d = case.d()
        masked(dtype)(a=case.a, b=case.b, d=d, masked_m=case.counts, expected_m=expected_m)
        results.append(d)
    case.check(results[0], "expected_m")
    assert all(torch.equal(results[0], d) for d in results)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["fp8", "bf16"])
def test_labels_finer_than_the_alignment_are_right_and_refused_when_checking(
    dtype: str, device: str
) -> None:
    case = MGrouped.make([256, 256, 256], 40, 256, dtype, device)
    g = torch.Generator().manual_seed(5)
    labels = torch.randint(-1, 3, (768,), generator=g, dtype=torch.int32)
    a = case.a
    rhs = [case.want[256 * i : 256 * i + 256] for i in range(3)]
    d = case.d()
    contiguous(dtype)(a, case.b, d, labels.to(device))
    # Rows that keep the group they were made for have a known value; the others are compared with
    # a call in which they do have it.
    for group in range(3):
        whole = case.d()
        contiguous(dtype)(a, case.b, whole, torch.full_like(labels, group).to(device))
        rows = (labels == group).to(device)
        assert torch.equal(d[rows], whole[rows])
        own = slice(256 * group, 256 * group + 256)
        assert_close(
            whole[own],
            rhs[group].to(device),
            magnitude=case.magnitude[own].to(device),
            k=256,
            case=f"{group}",
            fp8=dtype == "fp8",
        )
    assert not bool((d == SENTINEL).any())
    with deep_gemm.checking(), pytest.raises(errors.InvalidArgument, match="LABEL_TILE"):
        contiguous(dtype)(a, case.b, d, labels.to(device))


@pytest.mark.parametrize("device", DEVICES)
def test_values_out_of_range_are_refused_when_checking_and_harmless_otherwise(
    device: str,
) -> None:
    case = MGrouped.make([128, 128], 16, 128, "bf16", device, tail=128)
    layouts = {
        "LABEL_RANGE": (torch.full((384,), 2), {}),
        "END_ORDER": (torch.tensor([100, 99]), {"use_psum_layout": True}),
    }
    layouts["END_ORDER "] = (torch.tensor([100, 1 << 20]), {"use_psum_layout": True})
    for rule, (layout, options) in layouts.items():
        args = (case.a, case.b, case.d(), layout.int().to(device))
        contiguous("bf16")(*args, **options)
        with deep_gemm.checking(), pytest.raises(errors.InvalidArgument, match=rule.strip()):
            contiguous("bf16")(*args, **options)
    room = Masked.make([9, 9], 9, 16, 128, "bf16", device)
    for counts in ([10, 1], [-1, 3], [2**31 - 1, -(2**31)]):
        layout = torch.tensor(counts, dtype=torch.int32, device=device)
        d = room.d()
        masked("bf16")(room.a, room.b, d, layout, 9)
        for group, count in enumerate(counts):
            kept = min(max(count, 0), 9)
            assert bool((d[group, kept:] == SENTINEL).all())
            assert_close(
                d.cpu()[group, :kept], room.want[group, :kept],
                magnitude=room.magnitude[group, :kept], k=128, case=str(counts),
            )  # fmt: skip
        with deep_gemm.checking(), pytest.raises(errors.InvalidArgument, match="COUNT_RANGE"):
            masked("bf16")(room.a, room.b, d, layout, 9)


@pytest.mark.parametrize("device", DEVICES)
def test_empty_sizes_return_and_write_nothing(device: str) -> None:
    case = MGrouped.make([], 16, 128, "bf16", device)
    b = torch.zeros(3, 16, 128, dtype=torch.bfloat16, device=device)
    a = b.new_empty(0, 128)
    labels = torch.empty(0, dtype=torch.int32, device=device)
    contiguous("bf16")(a, b, case.d(), labels)
    ends = torch.zeros(3, dtype=torch.int32, device=device)
    contiguous("bf16")(a, b, case.d(), ends, use_psum_layout=True)
    d = torch.full((512, 16), SENTINEL, dtype=torch.bfloat16, device=device)
    contiguous("bf16")(b.new_zeros(512, 128), b, d, ends, use_psum_layout=True)
    assert bool((d == SENTINEL).all()), "all groups are empty"
    masked("bf16")(b.new_empty(3, 0, 128), b, d.new_empty(3, 0, 16), ends, 0)
    masked("bf16")(b.new_empty(3, 4, 128), b[:, :0], d.new_empty(3, 4, 0), ends, 0)


@pytest.mark.parametrize("device", DEVICES)
def test_outputs_may_be_float32_and_have_gaps_between_rows(device: str) -> None:
    case = MGrouped.make([100, 30], 48, 256, "fp8", device)
    wide = torch.full((256, 64), SENTINEL, device=device)
    contiguous("fp8")(case.a, case.b, wide[:, 8:56], case.labels)
    case.check(wide[:, 8:56], "float32")
    assert bool((wide[:, :8] == SENTINEL).all()) and bool((wide[:, 56:] == SENTINEL).all())


@pytest.mark.parametrize("device", DEVICES)
def test_operands_may_be_views_of_larger_ones(device: str) -> None:
    case = Masked.make([5, 0, 17], 20, 48, 256, "bf16", device)
    a = torch.full((3, 24, 272), torch.nan, dtype=torch.bfloat16, device=device)
    a[:, :20, :256] = case.a
    b = torch.full((3, 50, 264), torch.nan, dtype=torch.bfloat16, device=device)
    b[:, :48, :256] = case.b
    d = torch.full((3, 22, 56), SENTINEL, dtype=torch.bfloat16, device=device)
    masked("bf16")(a[:, :20, :256], b[:, :48, :256], d[:, :20, :48], case.counts, 5)
    case.check(d[:, :20, :48], "views")
    d[:, :20, :48] = SENTINEL
    assert bool((d == SENTINEL).all())


@pytest.mark.parametrize("device", DEVICES)
def test_packed_scales_and_mixed_operands(device: str) -> None:
    g = torch.Generator().manual_seed(11)
    x, w = torch.randn(256, 512, generator=g), torch.randn(2, 64, 512, generator=g)
    a = deep_gemm.per_token_cast_to_fp8(x, use_ue8m0=True)
    weights = [deep_gemm.per_token_cast_to_fp4(y, use_ue8m0=True, gran_k=32) for y in w]
    b = tuple(torch.stack(list(part)) for part in zip(*weights, strict=True))
    labels = torch.tensor([0] * 128 + [1] * 100 + [-1] * 28, dtype=torch.int32)
    pack = deep_gemm.get_mn_major_tma_aligned_packed_ue8m0_tensor
    recipes = {"recipe_a": (1, 128), "recipe_b": (1, 32)}
    results = []
    for scales in ((a[1], b[1]), (pack(a[1]), pack(b[1]))):
        d = torch.full((256, 64), SENTINEL, dtype=torch.bfloat16, device=device)
        deep_gemm.m_grouped_fp8_fp4_gemm_nt_contiguous(
            (a[0].to(device), scales[0].to(device)), (b[0].to(device), scales[1].to(device)), d,
            labels.to(device), **recipes,
        )  # fmt: skip
        results.append(d.cpu())
    assert torch.equal(*results)
    lhs = deep_gemm.reference.dequantise(*a, 1, 128)
    rhs = deep_gemm.reference.dequantise(*b, 1, 32)
    want, written = deep_gemm.reference.m_grouped_contiguous(lhs, rhs, labels)
    assert_close(results[0][written], want[written], magnitude=want[written].abs() + 400, k=512,
                 case="fp8 x fp4")  # fmt: skip


@pytest.mark.parametrize("device", DEVICES)
def test_another_alignment_moves_the_starts(device: str) -> None:
    try:
        for alignment in (32, 64, 256):
            deep_gemm.set_mk_alignment_for_contiguous_layout(alignment)
            case = MGrouped.make([40, 0, 300], 16, 128, "fp8", device, alignment=alignment)
            d = case.d()
            contiguous("fp8")(case.a, case.b, d, case.ends, use_psum_layout=True)
            case.check(d, f"alignment {alignment}")
            d = case.d()
            with deep_gemm.checking():
                contiguous("fp8")(case.a, case.b, d, case.labels)
            case.check(d, f"alignment {alignment}, labels")
    finally:
        deep_gemm.set_mk_alignment_for_contiguous_layout(ALIGNMENT)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["fp8", "bf16"])
def test_twenty_repeats_have_the_same_bits(dtype: str, device: str) -> None:
    case = MGrouped.make([200, 3, 128], 72, 384, dtype, device)
    first = case.d()
    contiguous(dtype)(case.a, case.b, first, case.labels)
    for _ in range(20):
        d = case.d()
        contiguous(dtype)(case.a, case.b, d, case.labels)
        assert torch.equal(d.view(torch.int16), first.view(torch.int16))


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(
        st.sampled_from([0, 1, 2, 63, 64, 65, 127, 128, 129, 200]), min_size=1, max_size=6
    ),
    n=st.integers(1, 70),
    k=st.integers(1, 300),
    dtype=st.sampled_from(["fp8", "bf16"]),
    tail=st.sampled_from([0, 1, 100, 128]),
)
def test_any_groups_of_any_size(sizes: list[int], n: int, k: int, dtype: str, tail: int) -> None:
    case = MGrouped.make(sizes, n, k, dtype, tail=tail)
    by_index, by_ends = case.d(), case.d()
    contiguous(dtype)(case.a, case.b, by_index, case.labels)
    contiguous(dtype)(case.a, case.b, by_ends, case.ends, use_psum_layout=True)
    case.check(by_index, f"{sizes} n{n} k{k}")
    assert torch.equal(by_index[case.valid], by_ends[case.valid])


@settings(max_examples=40, deadline=None)
@given(
    counts=st.lists(st.integers(0, 40), min_size=1, max_size=6),
    n=st.integers(1, 70),
    k=st.integers(1, 300),
    dtype=st.sampled_from(["fp8", "bf16"]),
)
def test_any_counts(counts: list[int], n: int, k: int, dtype: str) -> None:
    case = Masked.make(counts, 40, n, k, dtype)
    d = case.d()
    masked(dtype)(case.a, case.b, d, case.counts, 3)
    case.check(d, f"{counts} n{n} k{k}")


def test_names_that_are_one_object() -> None:
    for form in ("nt_contiguous", "nn_contiguous", "nt_masked"):
        one, two = (getattr(deep_gemm, f"m_grouped_{x}_gemm_{form}") for x in ("fp8", "fp8_fp4"))
        assert one is two
    assert deep_gemm.m_grouped_fp4_gemm_nt_contiguous is deep_gemm.m_grouped_fp8_gemm_nt_contiguous
    assert deep_gemm.m_grouped_fp4_gemm_nt_masked is deep_gemm.m_grouped_fp8_gemm_nt_masked
    assert deep_gemm.fp8_m_grouped_gemm_nt_masked is deep_gemm.m_grouped_fp8_gemm_nt_masked
    assert deep_gemm.bf16_m_grouped_gemm_nt_masked is deep_gemm.m_grouped_bf16_gemm_nt_masked


def wrong_calls() -> dict[str, tuple[str, str, dict]]:
    case = Masked.make([5, 0, 17], 20, 48, 256)
    a, b, d, counts = case.a, case.b, case.d(), case.counts
    return {
        "a-rank": ("a", "RANK_GROUPS", {"a": (a[0][0], a[1][0])}),
        "b-rank": ("b", "RANK_GROUPS", {"b": (b[0][0], b[1][0])}),
        "d-groups": ("d", "SAME_GROUPS", {"d": d[:2]}),
        "a-scale-groups": ("a_scale", "SAME_GROUPS", {"a": (a[0], a[1][:2])}),
        "no-groups": ("b", "SOME_GROUPS", {
            "a": (a[0][:0], a[1][:0]), "b": (b[0][:0], b[1][:0]), "d": d[:0],
            "masked_m": counts[:0],
        }),
        "layout-int64": ("masked_m", "LAYOUT_INT32", {"masked_m": counts.long()}),
        "layout-matrix": ("masked_m", "LAYOUT_VECTOR", {"masked_m": counts.view(3, 1)}),
        "layout-strided": ("masked_m", "LAYOUT_VECTOR", {
            "masked_m": torch.zeros(6, dtype=torch.int32)[::2]}),
        "layout-length": ("masked_m", "LAYOUT_LENGTH", {"masked_m": counts[:2]}),
        "d-overlaps": ("d", "GROUPS_APART", {
            "d": torch.zeros(20, 48).bfloat16().unsqueeze(0).expand(3, 20, 48)}),
        "a-columns-apart": ("a", "GROUPED_A_MAJOR", {
            "a": (a[0].transpose(1, 2).contiguous().transpose(1, 2), a[1])}),
        "no-k": ("a", "GROUPED_K", {
            "a": (a[0][..., :0], a[1][..., :0]), "b": (b[0][..., :0], b[1][..., :0])}),
        "d-dtype": ("d", "DTYPE_OUT", {"d": d.half()}),
        "recipe": ("recipe", "RECIPE_GRAN_MN", {"recipe": (1, 64, 128)}),
    }  # fmt: skip


@pytest.mark.parametrize("name", wrong_calls())
def test_wrong_calls_name_op_argument_given_rule_and_fix(name: str) -> None:
    case = Masked.make([5, 0, 17], 20, 48, 256)
    argument, rule, changes = wrong_calls()[name]
    call = {"a": case.a, "b": case.b, "d": case.d(), "masked_m": case.counts, "expected_m": 5}
    with pytest.raises((errors.InvalidArgument, errors.Unsupported), match=rule) as caught:
        deep_gemm.m_grouped_fp8_gemm_nt_masked(**(call | changes))
    text = str(caught.value)
    assert text.startswith(f"deep_gemm.m_grouped_fp8_gemm_nt_masked: {argument}: given "), text
    assert "\n  Fix: " in text


def test_expected_m_belongs_to_the_psum_layout() -> None:
    case = MGrouped.make([100], 16, 128)
    with pytest.raises(errors.InvalidArgument, match="EXPECTED_M_PSUM"):
        contiguous("fp8")(case.a, case.b, case.d(), case.labels, expected_m_for_psum_layout=100)
