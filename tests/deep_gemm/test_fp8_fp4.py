"""fp8_fp4_gemm_{nt,nn,tn,tt} against the float64 reference on the same quantised operands."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import deep_gemm
from deep_gemm import reference
from deep_gemm.utils import layout as scale_layout
from deep_gemm.utils.math import align, transpose_packed_fp4
from tests.support import devices
from tests.support.cases import EMPTY_CASES, GEMM_CASES, GemmCase, poisoned, randn, stored
from tests.support.tolerances import assert_close

OPS = {
    "nt": deep_gemm.fp8_gemm_nt,
    "nn": deep_gemm.fp8_gemm_nn,
    "tn": deep_gemm.fp8_gemm_tn,
    "tt": deep_gemm.fp8_gemm_tt,
}
OUTPUTS = [torch.bfloat16, torch.float32]
on_every_device = devices.fixture()
Pair = tuple[torch.Tensor, torch.Tensor]


def quantised(x: torch.Tensor, gran_mn: int, gran_k: int, kind: str = "fp8") -> Pair:
    """(data, scale) at the given granularity; kind is fp8, fp4, or either with -packed scales."""
    use_ue8m0 = kind.endswith("packed")
    if gran_mn == 128:
        return deep_gemm.per_block_cast_to_fp8(x, use_ue8m0, gran_k)
    cast = deep_gemm.per_token_cast_to_fp8 if kind[:3] == "fp8" else deep_gemm.per_token_cast_to_fp4
    data, scale = cast(x, use_ue8m0 or kind[:3] == "fp4", gran_k)
    if use_ue8m0:
        scale = scale_layout.get_mn_major_tma_aligned_packed_ue8m0_tensor(scale)
    return data, scale


def operands(case: GemmCase, gran_n: int = 128, gran_k: int = 128) -> tuple[Pair, Pair]:
    generator = case.generator()
    a = randn(generator, case.m, case.k).bfloat16()
    b = randn(generator, case.n, case.k).bfloat16()
    return quantised(a, 1, gran_k), quantised(b, gran_n, gran_k)


def check(
    d: torch.Tensor,
    a: Pair,
    b: Pair,
    case: str,
    recipe_a: tuple[int, int] = (1, 128),
    recipe_b: tuple[int, int] = (128, 128),
    c: torch.Tensor | None = None,
) -> None:
    recipes = {"recipe_a": recipe_a, "recipe_b": recipe_b}
    want = reference.fp8_gemm(*a, *b, c, **recipes)
    lhs = reference.dequantise(*a, *recipe_a).abs()
    rhs = reference.dequantise(*b, *recipe_b).abs()
    bound = lhs @ rhs.t()
    if c is not None:
        bound = bound + c.double().abs()
        if d.dtype == torch.bfloat16:
            bound = bound + (want - c.double()).abs() * 2.0**16
    fp8 = a[0].dtype == b[0].dtype == torch.float8_e4m3fn
    assert_close(d, want, magnitude=bound, k=lhs.size(1), case=case, roundings=2, fp8=fp8)


@pytest.mark.parametrize("out", OUTPUTS, ids=["bf16", "fp32"])
@pytest.mark.parametrize("case", GEMM_CASES, ids=str)
def test_product_matches_the_reference_at_every_edge(case: GemmCase, out: torch.dtype) -> None:
    a, b = operands(case)
    d = poisoned(case.m, case.n, dtype=out)
    assert deep_gemm.fp8_gemm_nt(a, b, d) is None
    check(d, a, b, str(case))


@pytest.mark.parametrize("layout", ["nn", "tn", "tt"])
@pytest.mark.parametrize("case", GEMM_CASES[::4], ids=str)
def test_every_storage_order_gives_the_same_product(case: GemmCase, layout: str) -> None:
    a, b = operands(case)
    d = poisoned(case.m, case.n)
    OPS[layout](
        tuple(stored(x, layout[0] == "t") for x in a),
        tuple(stored(x, layout[1] == "n") for x in b),
        d,
    )
    check(d, a, b, f"{case}-{layout}")


@pytest.mark.parametrize(
    ("recipe", "gran_n", "gran_k"),
    [((1, 128, 128), 128, 128), ((1, 1, 128), 1, 128), ((1, 1, 32), 1, 32)],
    ids=["default", "per-row", "per-32"],
)
@pytest.mark.parametrize("as_list", [False, True], ids=["tuple", "list"])
def test_recipes(recipe: tuple[int, ...], gran_n: int, gran_k: int, as_list: bool) -> None:
    case = GemmCase(33, 140, 300)
    a, b = operands(case, gran_n, gran_k)
    d = poisoned(case.m, case.n)
    deep_gemm.fp8_gemm_nt(a, b, d, recipe=list(recipe) if as_list else recipe)
    check(d, a, b, str(recipe), (1, gran_k), (gran_n, gran_k))
    e = poisoned(case.m, case.n)
    deep_gemm.fp8_gemm_nt(a, b, e, recipe_a=(1, gran_k), recipe_b=(gran_n, gran_k))
    deep_gemm.testing.assert_bitwise_equal(d, e, "recipe_a and recipe_b")


@pytest.mark.parametrize("packed", [False, True], ids=["float", "packed"])
@pytest.mark.parametrize("kind_a", ["fp8", "fp4"])
@pytest.mark.parametrize("kind_b", ["fp8", "fp4"])
def test_fp8_and_fp4_mix_with_float_and_packed_scales(
    kind_a: str, kind_b: str, packed: bool
) -> None:
    kind_a, kind_b = (kind + "-packed" * packed for kind in (kind_a, kind_b))
    case = GemmCase(19, 37, 256)
    generator = case.generator()
    a = quantised(randn(generator, 19, 256), 1, 32, kind_a)
    b = quantised(randn(generator, 37, 256), 1, 32, kind_b)
    d = poisoned(19, 37, dtype=torch.float32)
    recipes = {"recipe_a": (1, 32), "recipe_b": (1, 32)}
    deep_gemm.fp8_fp4_gemm_nt(a, b, d, **recipes)
    check(d, a, b, f"{kind_a} x {kind_b}", **recipes)


def test_fp4_weights_with_a_recipe_per_operand() -> None:
    case = GemmCase(8, 48, 384)
    generator = case.generator()
    a = quantised(randn(generator, 8, 384), 1, 128, "fp8")
    b = quantised(randn(generator, 48, 384), 1, 32, "fp4")
    d = poisoned(8, 48)
    deep_gemm.fp8_fp4_gemm_nt(a, b, d, recipe_a=(1, 128), recipe_b=(1, 32))
    check(d, a, b, "w4a8", (1, 128), (1, 32))


def test_fp4_stored_mn_major() -> None:
    case = GemmCase(8, 16, 128)
    generator = case.generator()
    a = quantised(randn(generator, 8, 128), 1, 32, "fp8")
    b = quantised(randn(generator, 16, 128), 1, 32, "fp4")
    stored_b = (transpose_packed_fp4(b[0]), b[1].t().contiguous())
    d = poisoned(8, 16, dtype=torch.float32)
    deep_gemm.fp8_fp4_gemm_nn(a, stored_b, d, recipe_a=(1, 32), recipe_b=(1, 32))
    check(d, a, b, "fp4 nn", (1, 32), (1, 32))


def test_packed_scales_choose_the_per_row_recipe_by_default() -> None:
    case = GemmCase(12, 24, 512)
    generator = case.generator()
    a = quantised(randn(generator, 12, 512), 1, 128, "fp8-packed")
    b = quantised(randn(generator, 24, 512), 1, 128, "fp8-packed")
    d = poisoned(12, 24)
    deep_gemm.fp8_gemm_nt(a, b, d)
    check(d, a, b, "packed default", (1, 128), (1, 128))


def test_activation_scales_in_any_layout_give_the_same_bits() -> None:
    case = GemmCase(9, 130, 384)
    a, b = operands(case)
    first = poisoned(9, 130)
    deep_gemm.fp8_gemm_nt(a, b, first)
    wide = torch.full((9, 11), float("nan"))
    wide[:, 4:7] = a[1]
    layouts = {
        "mn-major": deep_gemm.get_mn_major_tma_aligned_tensor(a[1]),
        "transposed": a[1].t().contiguous().t(),
        "slice": wide[:, 4:7],
    }
    for name, scale in layouts.items():
        d = poisoned(9, 130)
        deep_gemm.fp8_gemm_nt((a[0], scale), b, d, disable_ue8m0_cast=True)
        deep_gemm.testing.assert_bitwise_equal(d, first, name)
    d = poisoned(9, 130)
    deep_gemm.fp8_gemm_nt(a, (b[0], b[1].t().contiguous().t()), d)
    deep_gemm.testing.assert_bitwise_equal(d, first, "column-major block scales")


def test_padding_behind_scales_never_reaches_the_result() -> None:
    case = GemmCase(5, 40, 200)
    a, b = operands(case)
    holder = torch.full((2, align(5, 4)), float("nan"))
    holder[:, :5] = a[1].t()
    d = poisoned(5, 40)
    deep_gemm.fp8_gemm_nt((a[0], holder.t()[:5]), b, d)
    check(d, a, b, "nan padding")


@pytest.mark.parametrize("value", [0.0, 1e-30, 1e-40, 448.0, 0.3], ids=str)
def test_scales_are_used_exactly_as_given(value: float) -> None:
    case = GemmCase(4, 6, 256)
    a, b = operands(case)
    a[1][1, 0] = value
    d = poisoned(4, 6, dtype=torch.float32)
    deep_gemm.fp8_gemm_nt(a, b, d)
    assert bool(d.isfinite().all())
    check(d, a, b, f"scale {value}")


@pytest.mark.parametrize("out", OUTPUTS, ids=["bf16", "fp32"])
@pytest.mark.parametrize("aliased", [False, True], ids=["c-apart", "c-is-d"])
def test_c_is_added_and_never_changed(aliased: bool, out: torch.dtype) -> None:
    case = GemmCase(33, 70, 260)
    a, b = operands(case, 1)
    c = (randn(case.generator(), 33, 70) * 8).to(out)
    before = c.clone()
    d = c if aliased else poisoned(33, 70, dtype=out)
    deep_gemm.fp8_gemm_nt(a, b, d, c, (1, 1, 128))
    check(d, a, b, "c", (1, 128), (1, 128), before)
    if not aliased:
        assert torch.equal(c, before)


@pytest.mark.parametrize("case", EMPTY_CASES, ids=str)
def test_an_empty_output_is_left_alone(case: GemmCase) -> None:
    a, b = operands(case)
    d = torch.empty(case.m, case.n, dtype=torch.bfloat16)
    deep_gemm.fp8_gemm_nt(a, b, d)
    assert d.shape == (case.m, case.n)


def test_k_zero_writes_zeros_or_c() -> None:
    a, b = operands(GemmCase(3, 5, 0))
    d = poisoned(3, 5)
    deep_gemm.fp8_gemm_nt(a, b, d)
    assert torch.equal(d, torch.zeros(3, 5).bfloat16())
    c = torch.ones(3, 5).bfloat16()
    deep_gemm.fp8_gemm_nt(a, b, d, c)
    assert torch.equal(d, c)


def test_nan_codes_stay_in_their_row() -> None:
    a, b = operands(GemmCase(6, 9, 256))
    a[0].view(torch.uint8)[2, 7] = 0x7F
    d = poisoned(6, 9)
    deep_gemm.fp8_gemm_nt(a, b, d)
    assert bool(d[2].isnan().all())
    assert bool(torch.cat((d[:2], d[3:])).isfinite().all())


def test_twenty_calls_give_the_same_bits() -> None:
    a, b = operands(GemmCase(66, 200, 900))
    first = poisoned(66, 200)
    deep_gemm.fp8_gemm_nt(a, b, first)
    for number in range(20):
        d = poisoned(66, 200)
        deep_gemm.fp8_gemm_nt(a, b, d)
        deep_gemm.testing.assert_bitwise_equal(d, first, f"call {number}")


def test_every_fp8_code_means_what_torch_says() -> None:
    codes = torch.arange(256, dtype=torch.uint8)
    data = codes.view(256, 1).repeat(1, 16)
    data[:, 1:] = 0
    b = torch.zeros(1, 16)
    b[0, 0] = 1.0
    one = torch.ones(256, 1)
    d = poisoned(256, 1, dtype=torch.float32)
    deep_gemm.fp8_gemm_nt(
        (data.view(torch.float8_e4m3fn), one),
        (b.to(torch.float8_e4m3fn), torch.ones(1, 1)),
        d,
    )
    want = codes.view(torch.float8_e4m3fn).float().view(256, 1)
    assert torch.equal(d.isnan(), want.isnan())
    assert torch.equal(d.nan_to_num(0), want.nan_to_num(0))


def test_every_m_from_1_to_40_compiles_a_bounded_number_of_kernels() -> None:
    generator = GemmCase(40, 96, 256).generator()
    b = quantised(randn(generator, 96, 256), 128, 128)
    before = deep_gemm.counters()["loads"]
    for m in range(1, 41):
        a = quantised(randn(generator, m, 256), 1, 128)
        d = poisoned(m, 96)
        deep_gemm.fp8_gemm_nt(a, b, d)
        check(d, a, b, f"m={m}")
    assert deep_gemm.counters()["loads"] - before <= 8


@settings(deadline=None, max_examples=30)
@given(
    m=st.integers(0, 70),
    n=st.integers(0, 150),
    k=st.integers(0, 300),
    gran_n=st.sampled_from([1, 128]),
    layout=st.sampled_from(sorted(OPS)),
    out=st.sampled_from(OUTPUTS),
)
def test_any_size_matches_the_reference(
    m: int, n: int, k: int, gran_n: int, layout: str, out: torch.dtype
) -> None:
    case = GemmCase(m, n, k)
    a, b = operands(case, gran_n)
    d = poisoned(m, n, dtype=out)
    OPS[layout](
        tuple(stored(x, layout[0] == "t") for x in a),
        tuple(stored(x, layout[1] == "n") for x in b),
        d,
        recipe=(1, gran_n, 128),
    )
    check(d, a, b, f"{case}-{layout}", (1, 128), (gran_n, 128))
