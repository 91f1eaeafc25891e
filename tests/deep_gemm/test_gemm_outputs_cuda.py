"""Dense GEMMs on a GPU by storage order, output and what they add to, at the edges of tiles."""

import pytest
import torch

import deep_gemm
from deep_gemm import reference
from tests.support import devices
from tests.support.cases import GemmCase, bf16_operands, poisoned, randn, stored
from tests.support.tolerances import assert_close

on_cuda = devices.fixture_of_cuda()

BF16, F32 = torch.bfloat16, torch.float32

# One row, one tile, tiles and a bit along each side, odd numbers of row tiles, long and short k.
SIZES = [
    (1, 64, 64), (1, 2112, 7168), (8, 8, 8), (63, 72, 200), (64, 64, 64), (65, 136, 72),
    (128, 256, 128), (129, 264, 1040), (200, 520, 192), (256, 512, 64), (384, 1024, 512),
    (640, 776, 2056), (1000, 2048, 136), (2048, 2304, 512), (4096, 576, 256),
]  # fmt: skip
CASES = [GemmCase(*sizes) for sizes in SIZES]


def added(case: GemmCase, dtype: torch.dtype) -> torch.Tensor:
    return (randn(case.generator(), case.m, case.n) * 3).to(dtype)


def check(
    d: torch.Tensor, want: torch.Tensor, bound: torch.Tensor, case: GemmCase, text: str,
    fp8: bool = False,
) -> None:  # fmt: skip
    assert_close(d, want, magnitude=bound, k=case.k, case=f"{case} {text}", roundings=2, fp8=fp8)


@pytest.mark.parametrize("layout", ["nt", "nn", "tn", "tt"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_bf16_outputs_match_and_repeat(case: GemmCase, layout: str) -> None:
    a, b = bf16_operands(case)
    x, y = stored(a, layout[0] == "t"), stored(b, layout[1] == "n")
    op = getattr(deep_gemm, f"bf16_gemm_{layout}")
    want, bound = reference.bf16_gemm(a, b), reference.bf16_gemm(a.abs(), b.abs())
    for dtype in (BF16, F32):
        d, again = poisoned(case.m, case.n, dtype=dtype), poisoned(case.m, case.n, dtype=dtype)
        op(x, y, d)
        check(d, want, bound, case, f"{layout} {dtype}")
        for number in range(10):
            op(x, y, again)
            deep_gemm.testing.assert_bitwise_equal(again, d, f"{case} {layout}, call {number}")
            again.fill_(float("nan"))
        c = added(case, dtype)
        in_place = c.clone()
        op(x, y, in_place, c=in_place)
        check(in_place, want + c.double(), bound + c.double().abs(), case, f"{layout} {dtype} +d")
        beside = poisoned(case.m, case.n, dtype=dtype)
        op(x, y, beside, c=c)
        check(beside, want + c.double(), bound + c.double().abs(), case, f"{layout} {dtype} +c")


@pytest.mark.parametrize("dtype", [BF16, F32])
@pytest.mark.parametrize("accumulates", [False, True])
def test_what_lies_beside_a_bf16_output_stays(dtype: torch.dtype, accumulates: bool) -> None:
    case = GemmCase(130, 264, 320)
    a, b = bf16_operands(case)
    holder = torch.full((case.m + 2, 288), -3.0, dtype=dtype)
    d = holder[1 : case.m + 1, 8 : 8 + case.n]
    c = added(case, dtype) if accumulates else None
    if c is not None:
        d.copy_(c)
    deep_gemm.bf16_gemm_nt(a, b, d, c=d if accumulates else None)
    want, bound = reference.bf16_gemm(a, b), reference.bf16_gemm(a.abs(), b.abs())
    more = torch.zeros_like(want) if c is None else c.double()
    check(d, want + more, bound + more.abs(), case, "view")
    holder[1 : case.m + 1, 8 : 8 + case.n] = -3.0
    assert bool((holder == -3).all())


@pytest.mark.parametrize("rows_of_b", [1, 128])
@pytest.mark.parametrize("case", [case for case in CASES if case.k % 16 == 0], ids=str)
def test_fp8_float32_outputs_match_and_repeat(case: GemmCase, rows_of_b: int) -> None:
    generator = case.generator()
    x, y = (randn(generator, rows, case.k).bfloat16() for rows in (case.m, case.n))
    a = deep_gemm.per_token_cast_to_fp8(x, False)
    cast = deep_gemm.per_token_cast_to_fp8 if rows_of_b == 1 else deep_gemm.per_block_cast_to_fp8
    b = cast(y, False)
    recipe = (1, rows_of_b, 128)
    want = reference.fp8_gemm(*a, *b, recipe_a=(1, 128), recipe_b=(rows_of_b, 128))
    lhs = reference.dequantise(*a, 1, 128).abs()
    bound = lhs @ reference.dequantise(*b, rows_of_b, 128).abs().t()
    d = poisoned(case.m, case.n, dtype=F32)
    deep_gemm.fp8_gemm_nt(a, b, d, recipe=recipe)
    check(d, want, bound, case, f"{rows_of_b}", fp8=True)
    c = added(case, F32)
    sums = [c.clone() for _ in range(10)]
    for number, in_place in enumerate(sums):
        deep_gemm.fp8_gemm_nt(a, b, in_place, c=in_place, recipe=recipe)
        check(in_place, want + c.double(), bound + c.double().abs(), case, "+d", fp8=True)
        deep_gemm.testing.assert_bitwise_equal(in_place, sums[0], f"{case}, call {number}")
    turned = [deep_gemm.get_mn_major_tma_aligned_tensor(s) for s in (a[1], b[1])]
    e = poisoned(case.m, case.n, dtype=F32)
    deep_gemm.fp8_gemm_nt((a[0], turned[0]), (b[0], turned[1]), e, recipe=recipe)
    deep_gemm.testing.assert_bitwise_equal(e, d, f"{case}: column-major scales")


@pytest.mark.parametrize("num_sms", [2, 7])
def test_many_tiles_a_block_change_no_bit(num_sms: int) -> None:
    case = GemmCase(700, 1288, 576)
    a, b = bf16_operands(case)
    x = deep_gemm.per_token_cast_to_fp8(a, False), deep_gemm.per_token_cast_to_fp8(b, False)

    def results() -> list[torch.Tensor]:
        found = [poisoned(case.m, case.n), added(case, F32), added(case, F32)]
        deep_gemm.bf16_gemm_nt(a, b, found[0])
        deep_gemm.bf16_gemm_nt(a, b, found[1], c=found[1])
        deep_gemm.fp8_gemm_nt(x[0], x[1], found[2], c=found[2], recipe=(1, 1, 128))
        return found

    want = results()
    all_sms = deep_gemm.get_num_sms()
    deep_gemm.set_num_sms(num_sms)
    try:
        got = results()
    finally:
        deep_gemm.set_num_sms(all_sms)
    for one, other in zip(got, want, strict=True):
        deep_gemm.testing.assert_bitwise_equal(one, other, f"{num_sms} SMs")
