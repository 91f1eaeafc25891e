"""On a GPU: what lies beside an output stays, and what lies beside an operand does not count.

Outputs and operands are views into larger tensors, in rows that end anywhere between 16 bytes. The
copy engine moves 16 bytes at a time at the least, so these are the sizes where it could go wrong.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

import deep_gemm
from deep_gemm import reference
from tests.support import devices
from tests.support.cases import GemmCase, bf16_operands, randn, stored
from tests.support.grouped import SENTINEL, Masked, MGrouped
from tests.support.tolerances import assert_close

on_cuda = devices.fixture_of_cuda()

BF16, F32 = torch.bfloat16, torch.float32
OUTPUTS = [(BF16, False), (F32, False), (F32, True)]
COLUMNS = [1, 7, 31, 33, 60, 63, 68, 129, 250, 257, 511]
ROWS = [1, 64, 130]


def around(*sizes: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """A tensor full of the sentinel, and a view of these sizes inside with 16 bytes around it."""
    room = 16 // torch.empty(0, dtype=dtype).element_size()
    pitch = -(-(sizes[-1] + 1) // room) * room + 2 * room
    holder = torch.full((*sizes[:-2], sizes[-2] + 2, pitch), SENTINEL, dtype=dtype)
    return holder, holder[..., 1 : sizes[-2] + 1, room : room + sizes[-1]]


def check_around(holder: torch.Tensor, view: torch.Tensor, case: str) -> None:
    view.fill_(SENTINEL)
    changed = (holder != SENTINEL).nonzero()
    assert not len(changed), f"{case}: written at {changed[:4].tolist()}"


def operands(case: GemmCase, kind: str) -> tuple[Any, Any, torch.Tensor, torch.Tensor]:
    """a, b, a @ b.t() and sum |a||b| in float64."""
    x, y = bf16_operands(case)
    if kind == "bf16":
        return x, y, reference.bf16_gemm(x, y), reference.bf16_gemm(x.abs(), y.abs())
    rows = 1 if kind == "fp8_rows" else 128
    cast = deep_gemm.per_token_cast_to_fp8 if rows == 1 else deep_gemm.per_block_cast_to_fp8
    a, b = deep_gemm.per_token_cast_to_fp8(x, False), cast(y, False)
    want = reference.fp8_gemm(*a, *b, recipe_a=(1, 128), recipe_b=(rows, 128))
    bound = (reference.dequantise(*a, 1, 128).abs()
             @ reference.dequantise(*b, rows, 128).abs().t())  # fmt: skip
    return a, b, want, bound


def call(kind: str, a: Any, b: Any, d: torch.Tensor, c: torch.Tensor | None = None) -> None:
    if kind == "bf16":
        deep_gemm.bf16_gemm_nt(a, b, d, c=c)
    else:
        deep_gemm.fp8_gemm_nt(a, b, d, c=c, recipe=(1, 1 if kind == "fp8_rows" else 128, 128))


@pytest.mark.parametrize("m", ROWS)
@pytest.mark.parametrize("kind", ["bf16", "fp8", "fp8_rows"])
def test_nothing_beside_a_dense_output_is_written(kind: str, m: int) -> None:
    for n in COLUMNS:
        case = GemmCase(m, n, 256)
        a, b, want, bound = operands(case, kind)
        for dtype, adds in OUTPUTS:
            holder, d = around(m, n, dtype=dtype)
            c = randn(case.generator(), m, n).to(dtype) if adds else None
            if c is not None:
                d.copy_(c)
            call(kind, a, b, d, d if adds else None)
            more = torch.zeros_like(want) if c is None else c.double()
            text = f"{case} {kind} {dtype} {adds}"
            assert_close(d, want + more, magnitude=bound + more.abs(), k=case.k, case=text,
                         roundings=2, fp8=kind != "bf16")  # fmt: skip
            check_around(holder, d, text)


@pytest.mark.parametrize("kind", ["bf16", "fp8", "fp8_rows"])
def test_nothing_behind_a_single_row_is_written(kind: str) -> None:
    for n in COLUMNS:
        a, b, want, bound = operands(GemmCase(1, n, 256), kind)
        for dtype in (BF16, F32):
            flat = torch.full((n + 32,), SENTINEL, dtype=dtype)
            d = flat[8 : 8 + n].view(1, n)
            call(kind, a, b, d)
            assert_close(d, want, magnitude=bound, k=256, case=f"{n} {kind}", roundings=2,
                         fp8=kind != "bf16")  # fmt: skip
            check_around(flat, d, f"{n} {kind} {dtype}")


@pytest.mark.parametrize("n", [63, 129, 250, 264])
@pytest.mark.parametrize("dtype", ["fp8", "bf16"])
def test_nothing_beside_a_grouped_output_is_written(dtype: str, n: int) -> None:
    with torch.device("cpu"):
        case = MGrouped.make([100, 0, 129, 1], n, 256, dtype, "cuda")
    op = getattr(deep_gemm, f"m_grouped_{dtype}_gemm_nt_contiguous")
    for layout, by_ends in ((case.labels, False), (case.ends, True)):
        for out in (BF16, F32) if dtype == "bf16" else (BF16,):
            holder, d = around(*case.want.shape, dtype=out)
            op(case.a, case.b, d, layout, use_psum_layout=by_ends)
            case.check(d, f"{n} {dtype} ends {by_ends}")
            check_around(holder, d, f"{n} {dtype} ends {by_ends}")


@pytest.mark.parametrize("n", [63, 129, 250, 264])
@pytest.mark.parametrize("dtype", ["fp8", "bf16"])
def test_nothing_beside_a_masked_output_is_written(dtype: str, n: int) -> None:
    with torch.device("cpu"):
        case = Masked.make([64, 0, 17, 1], 64, n, 256, dtype, "cuda")
    op = getattr(deep_gemm, f"m_grouped_{dtype}_gemm_nt_masked")
    holder, d = around(*case.want.shape, dtype=BF16)
    op(case.a, case.b, d, case.counts, 64)
    case.check(d, f"{n} {dtype}")
    check_around(holder, d, f"{n} {dtype}")


@pytest.mark.parametrize(("m", "n"), [(64, 63), (136, 129), (1, 250), (72, 264)])
def test_nothing_around_an_output_grouped_along_k_is_written(m: int, n: int) -> None:
    sizes = [100, 0, 64, 1]
    generator = GemmCase(m, n, sum(sizes)).generator()
    x, y = (randn(generator, sum(sizes), side).bfloat16() for side in (m, n))
    layout = torch.tensor(sizes, dtype=torch.int32)
    parts = list(zip(x.double().split(sizes), y.double().split(sizes), strict=True))
    want = torch.stack([a.t() @ b for a, b in parts])
    bound = torch.stack([a.abs().t() @ b.abs() for a, b in parts])
    for dtype, adds in [*OUTPUTS, (BF16, True)]:
        holder = torch.full((want.numel() + 32,), SENTINEL, dtype=dtype)
        d = holder[8 : 8 + want.numel()].view(want.shape)  # has to be contiguous
        c = randn(generator, *want.shape).to(dtype) if adds else None
        if c is not None:
            d.copy_(c)
        deep_gemm.k_grouped_bf16_gemm_tn_contiguous(x, y, d, sizes, layout, c=d if adds else None)
        more = torch.zeros_like(want) if c is None else c.double()
        text = f"{m}x{n} {dtype} {adds}"
        assert_close(d, want + more, magnitude=bound + more.abs() + 1, k=100, case=text,
                     roundings=2)  # fmt: skip
        check_around(holder, d, text)


def among_nans(x: torch.Tensor) -> torch.Tensor:
    """A copy of x in rows of NaN that begin and end on 16 bytes."""
    size = x.element_size()
    pitch = -(-(x.size(-1) * size + 1) // 16) * 16 + 32
    holder = torch.full((x.size(0) + 1, pitch), 0x7F, dtype=torch.uint8)
    if x.dtype == BF16:
        holder.view(BF16).fill_(float("nan"))
    view = holder.view(x.dtype)[: x.size(0), 16 // size : 16 // size + x.size(1)]
    view.view(torch.uint8).copy_(x.contiguous().view(torch.uint8))
    assert view.data_ptr() % 16 == 0 and view.stride(0) * size % 16 == 0
    return view


@pytest.mark.parametrize("m", ROWS)
@pytest.mark.parametrize("k", [1, 7, 15, 17, 100, 129, 136, 143, 200, 250, 257])
@pytest.mark.parametrize("kind", ["bf16", "fp8", "fp8_rows"])
def test_what_lies_behind_k_does_not_count(kind: str, k: int, m: int) -> None:
    case = GemmCase(m, 72, k)
    a, b, want, bound = operands(case, kind)
    if kind == "bf16":
        x, y = among_nans(a), among_nans(b)
    else:
        x, y = (among_nans(a[0]), a[1]), (among_nans(b[0]), b[1])
    for dtype in (BF16, F32):
        d = torch.full((m, 72), SENTINEL, dtype=dtype)
        call(kind, x, y, d)
        assert_close(d, want, magnitude=bound, k=k, case=f"{case} {kind} {dtype}", roundings=2,
                     fp8=kind != "bf16")  # fmt: skip


@pytest.mark.parametrize("m", [1, 7, 8, 9, 33, 63])
@pytest.mark.parametrize("kind", ["bf16", "fp8", "fp8_rows"])
def test_what_lies_behind_the_last_row_does_not_count(kind: str, m: int) -> None:
    # Rows of NaN follow those of a, and the rows of a longer product were computed just before.
    for n, k in [(72, 200), (264, 2048)]:
        case = GemmCase(m, n, k)
        a, b, want, bound = operands(case, kind)
        first = a if kind == "bf16" else a[0]
        holder = torch.full((128, -(-k // 16) * 16 * first.element_size()), 0x7F, dtype=torch.uint8)
        if kind == "bf16":
            holder.view(BF16).fill_(float("nan"))
        rows = holder.view(first.dtype)[:, :k]
        rows[:m].view(torch.uint8).copy_(first.contiguous().view(torch.uint8))
        scales = None if kind == "bf16" else torch.nn.functional.pad(a[1], (0, 0, 0, 128 - m))
        for dtype, adds in OUTPUTS:
            if kind != "bf16" and adds:
                continue
            before = torch.empty(128, n, dtype=dtype)
            call(kind, rows if scales is None else (rows, scales), b, before)
            d = torch.full((m, n), SENTINEL, dtype=dtype)
            c = randn(case.generator(), m, n).to(dtype) if adds else None
            call(kind, rows[:m] if scales is None else (rows[:m], a[1]), b, d, c)
            more = torch.zeros_like(want) if c is None else c.double()
            assert_close(d, want + more, magnitude=bound + more.abs(), k=k,
                         case=f"{case} {kind} {dtype} {adds}", roundings=2,
                         fp8=kind != "bf16")  # fmt: skip


@pytest.mark.parametrize("layout", ["nn", "tn", "tt"])
@pytest.mark.parametrize("case", [GemmCase(65, 136, 100), GemmCase(130, 72, 71)], ids=str)
def test_what_lies_beside_turned_operands_does_not_count(case: GemmCase, layout: str) -> None:
    a, b, want, bound = operands(case, "bf16")
    x = among_nans(stored(a, layout[0] == "t"))
    y = among_nans(stored(b, layout[1] == "n"))
    for dtype in (BF16, F32):
        d = torch.full((case.m, case.n), SENTINEL, dtype=dtype)
        getattr(deep_gemm, f"bf16_gemm_{layout}")(x, y, d)
        assert_close(d, want, magnitude=bound, k=case.k, case=f"{case} {layout}", roundings=2)
