"""bf16_gemm_{nt,nn,tn,tt} against the float64 reference: edges, strides, c, alpha, repeats."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import deep_gemm
from deep_gemm import reference
from tests.support import devices
from tests.support.cases import (
    EMPTY_CASES,
    GEMM_CASES,
    GemmCase,
    bf16_operands,
    poisoned,
    randn,
    stored,
)
from tests.support.tolerances import assert_close

OPS = {
    "nt": deep_gemm.bf16_gemm_nt,
    "nn": deep_gemm.bf16_gemm_nn,
    "tn": deep_gemm.bf16_gemm_tn,
    "tt": deep_gemm.bf16_gemm_tt,
}
OUTPUTS = [torch.bfloat16, torch.float32]
on_every_device = devices.fixture()


def call(layout: str, a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, *args, **kwargs) -> None:
    a, b = stored(a, layout[0] == "t"), stored(b, layout[1] == "n")
    assert OPS[layout](a, b, d, *args, **kwargs) is None


def magnitude(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return reference.bf16_gemm(a.abs(), b.abs())


@pytest.mark.parametrize("out", OUTPUTS, ids=["bf16", "fp32"])
@pytest.mark.parametrize("case", GEMM_CASES, ids=str)
def test_product_matches_the_reference_at_every_edge(case: GemmCase, out: torch.dtype) -> None:
    a, b = bf16_operands(case)
    d = poisoned(case.m, case.n, dtype=out)
    call("nt", a, b, d)
    want = reference.bf16_gemm(a, b)
    assert_close(d, want, magnitude=magnitude(a, b), k=case.k, case=str(case))


@pytest.mark.parametrize("layout", ["nn", "tn", "tt"])
@pytest.mark.parametrize("case", GEMM_CASES[::4], ids=str)
def test_every_storage_order_gives_the_same_product(case: GemmCase, layout: str) -> None:
    a, b = bf16_operands(case)
    d = poisoned(case.m, case.n, dtype=torch.float32)
    call(layout, a, b, d)
    want = reference.bf16_gemm(a, b)
    assert_close(d, want, magnitude=magnitude(a, b), k=case.k, case=f"{case}-{layout}")


@pytest.mark.parametrize("out", OUTPUTS, ids=["bf16", "fp32"])
@pytest.mark.parametrize("aliased", [False, True], ids=["c-apart", "c-is-d"])
@pytest.mark.parametrize("case", GEMM_CASES[2::5], ids=str)
def test_c_is_added_and_never_changed(case: GemmCase, aliased: bool, out: torch.dtype) -> None:
    a, b = bf16_operands(case)
    c = (randn(case.generator(), case.m, case.n) * 4).to(out)
    before = c.clone()
    d = c if aliased else poisoned(case.m, case.n, dtype=out)
    call("nt", a, b, d, c)
    want = reference.bf16_gemm(a, b, before)
    bound = magnitude(a, b) + before.double().abs()
    # A bfloat16 output may round the product before it is added.
    product = reference.bf16_gemm(a, b).abs() * 2.0**-8 if out == torch.bfloat16 else 0
    budgeted = bound + product * 2**24
    assert_close(d, want, magnitude=budgeted, k=case.k, case=str(case), roundings=2)
    if not aliased:
        assert torch.equal(c, before)


@pytest.mark.parametrize("case", EMPTY_CASES, ids=str)
def test_an_empty_output_is_left_alone(case: GemmCase) -> None:
    a, b = bf16_operands(case)
    d = torch.empty(case.m, case.n, dtype=torch.bfloat16)
    call("nt", a, b, d)
    assert d.shape == (case.m, case.n)


@pytest.mark.parametrize("out", OUTPUTS, ids=["bf16", "fp32"])
def test_k_zero_writes_zeros_or_c(out: torch.dtype) -> None:
    a, b = torch.empty(3, 0).bfloat16(), torch.empty(5, 0).bfloat16()
    d = poisoned(3, 5, dtype=out)
    deep_gemm.bf16_gemm_nt(a, b, d)
    assert torch.equal(d, torch.zeros(3, 5, dtype=out))
    c = randn(GemmCase(3, 5, 0).generator(), 3, 5).to(out)
    deep_gemm.bf16_gemm_nt(a, b, d, c)
    assert torch.equal(d, c)
    deep_gemm.bf16_gemm_nt(a, b, c, c)
    assert torch.equal(d, c)


def test_padded_rows_of_a_b_and_d() -> None:
    case = GemmCase(9, 20, 136)
    wide = randn(case.generator(), 9, 200).bfloat16(), randn(case.generator(), 20, 264).bfloat16()
    a, b = wide[0][:, :136], wide[1][:, 8:144]
    holder = torch.full((9, 33), 5.0, dtype=torch.bfloat16)
    d = holder[:, 3:23]
    deep_gemm.bf16_gemm_nt(a, b, d)
    want = reference.bf16_gemm(a, b)
    assert_close(d, want, magnitude=magnitude(a, b), k=136, case=str(case))
    assert bool((holder[:, :3] == 5).all()) and bool((holder[:, 23:] == 5).all())


def test_columns_beside_d_and_rows_after_it_are_untouched() -> None:
    a, b = bf16_operands(GemmCase(7, 31, 64))
    holder = torch.full((10, 40), -3.0)
    deep_gemm.bf16_gemm_nt(a, b, holder[:7, :31])
    assert bool((holder[7:] == -3).all()) and bool((holder[:, 31:] == -3).all())


@pytest.mark.parametrize("alpha", [0.0, 0.5, -2.0])
def test_alpha_scales_the_product_but_not_c(alpha: float) -> None:
    a, b = bf16_operands(GemmCase(5, 7, 96))
    c = randn(GemmCase(5, 7, 1).generator(), 5, 7)
    d = poisoned(5, 7, dtype=torch.float32)
    deep_gemm.bf16_gemm_nt(a, b, d, c, alpha=alpha)
    want = reference.bf16_gemm(a, b, c, alpha=alpha)
    assert_close(d, want, magnitude=magnitude(a, b) * 2 + c.abs(), k=96, case=f"alpha={alpha}")


def test_alpha_epilogue_is_alpha() -> None:
    a, b = bf16_operands(GemmCase(5, 7, 96))
    d, e, f = (poisoned(5, 7, dtype=torch.float32) for _ in range(3))
    deep_gemm.bf16_gemm_nt(a, b, d, alpha=0.25)
    deep_gemm.bf16_gemm_nt(a, b, e, epilogue=deep_gemm.epilogue.Alpha(0.25))
    assert torch.equal(d, e)
    deep_gemm.bf16_gemm_nt(a, b, d)
    deep_gemm.bf16_gemm_nt(a, b, f, epilogue=deep_gemm.epilogue.Identity())
    assert torch.equal(d, f)


def test_twenty_calls_give_the_same_bits() -> None:
    a, b = bf16_operands(GemmCase(65, 127, 1000))
    first = poisoned(65, 127, dtype=torch.bfloat16)
    deep_gemm.bf16_gemm_nt(a, b, first)
    for call_number in range(20):
        d = poisoned(65, 127, dtype=torch.bfloat16)
        deep_gemm.bf16_gemm_nt(a, b, d)
        deep_gemm.testing.assert_bitwise_equal(d, first, f"call {call_number}")


def test_a_row_does_not_depend_on_the_others_when_batch_invariant() -> None:
    a, b = bf16_operands(GemmCase(70, 48, 512))
    deep_gemm.set_batch_invariant(True)
    try:
        whole = poisoned(70, 48, dtype=torch.float32)
        deep_gemm.bf16_gemm_nt(a, b, whole)
        for rows in (1, 3, 64):
            part = poisoned(rows, 48, dtype=torch.float32)
            deep_gemm.bf16_gemm_nt(a[:rows].contiguous(), b, part)
            deep_gemm.testing.assert_bitwise_equal(part, whole[:rows], f"{rows} rows")
    finally:
        deep_gemm.set_batch_invariant(False)


def test_infinities_and_nans_stay_in_their_row_and_column() -> None:
    a, b = bf16_operands(GemmCase(6, 9, 40))
    a[2, 3], b[4, 5] = float("nan"), float("inf")
    d = poisoned(6, 9, dtype=torch.float32)
    deep_gemm.bf16_gemm_nt(a, b, d)
    finite = d.isfinite()
    assert not bool(finite[2].any()) and not bool(finite[:, 4].any())
    finite[2], finite[:, 4] = True, True
    assert bool(finite.all())


@settings(deadline=None, max_examples=30)
@given(
    m=st.integers(0, 70),
    n=st.integers(0, 70),
    k=st.integers(0, 200),
    layout=st.sampled_from(sorted(OPS)),
    out=st.sampled_from(OUTPUTS),
)
def test_any_size_matches_the_reference(
    m: int, n: int, k: int, layout: str, out: torch.dtype
) -> None:
    case = GemmCase(m, n, k)
    a, b = bf16_operands(case)
    d = poisoned(m, n, dtype=out)
    call(layout, a, b, d)
    want = reference.bf16_gemm(a, b)
    assert_close(d, want, magnitude=magnitude(a, b), k=k, case=f"{case}-{layout}")
