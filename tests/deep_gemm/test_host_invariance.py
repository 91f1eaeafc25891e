"""A row of a host GEMM has the same bits whatever threads compute it, and beside any other rows.

Engines that promise reproducible samples rely on both; no knob needs to be set for it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

import deep_gemm
from deep_gemm import reference

N, K = 200, 1184  # tails of every tile, and several blocks of k
ROWS = 259
LAYOUTS = ["nt", "nn", "tn", "tt"]


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def bits(x: torch.Tensor) -> torch.Tensor:
    return x.contiguous().view({2: torch.int16, 4: torch.int32}[x.element_size()])


def stored(x: torch.Tensor, is_transposed: bool) -> torch.Tensor:
    return x.t().contiguous() if is_transposed else x.contiguous()


def product(kind: str, layout: str, a: torch.Tensor, b: torch.Tensor, out: torch.dtype):
    """a [m, k] times b [n, k], through the operator of this storage order."""
    d = torch.full((a.shape[0], b.shape[0]), float("nan"), dtype=out)
    flip_a, flip_b = layout[0] == "t", layout[1] == "n"
    if kind == "bf16":
        op = getattr(deep_gemm, f"bf16_gemm_{layout}")
        op(stored(a.bfloat16(), flip_a), stored(b.bfloat16(), flip_b), d)
        return d
    qa = deep_gemm.per_token_cast_to_fp8(a.bfloat16(), use_ue8m0=False)
    qb = deep_gemm.per_block_cast_to_fp8(b.bfloat16(), use_ue8m0=False)
    op = getattr(deep_gemm, f"fp8_gemm_{layout}")
    op(tuple(stored(x, flip_a) for x in qa), tuple(stored(x, flip_b) for x in qb), d)
    return d


def operands() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(20)
    a = torch.randn(ROWS, K, generator=generator)
    return a, torch.randn(N, K, generator=generator)


@pytest.mark.parametrize("out", [torch.bfloat16, torch.float32], ids=["bf16-out", "fp32-out"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["bf16", "fp8"])
def test_bits_do_not_depend_on_the_number_of_threads(
    kind: str, layout: str, out: torch.dtype
) -> None:
    a, b = operands()
    torch.set_num_threads(1)
    want = bits(product(kind, layout, a, b, out))
    for num_threads in (2, 3, 7, 16):
        torch.set_num_threads(num_threads)
        got = bits(product(kind, layout, a, b, out))
        assert torch.equal(got, want), f"{num_threads} threads"


@pytest.mark.parametrize("out", [torch.bfloat16, torch.float32], ids=["bf16-out", "fp32-out"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["bf16", "fp8"])
def test_bits_of_a_row_do_not_depend_on_other_rows(
    kind: str, layout: str, out: torch.dtype
) -> None:
    a, b = operands()
    want = bits(product(kind, layout, a, b, out))
    for first, count in [(0, 1), (5, 1), (0, 2), (3, 7), (1, 64), (100, 129), (2, 257)]:
        rows = slice(first, first + count)
        got = bits(product(kind, layout, a[rows], b, out))
        assert torch.equal(got, want[rows]), f"rows {first} to {first + count}"
    # Other values beside it, not only fewer.
    noisy = a.clone()
    noisy[1:] = torch.randn_like(noisy[1:]) * 100
    assert torch.equal(bits(product(kind, layout, noisy, b, out))[0], want[0])


def test_the_invariant_result_is_also_the_right_one() -> None:
    a, b = operands()
    d = product("bf16", "nt", a, b, torch.float32)
    want = reference.bf16_gemm(a.bfloat16(), b.bfloat16())
    assert (d.double() - want).abs().max() < 1e-3 * want.abs().max()


def huge(rows: int, columns: int, stride: int, dtype: torch.dtype) -> torch.Tensor:
    """A view whose last row begins beyond 2^31 elements; what lies between is never touched."""
    try:
        storage = torch.empty((rows - 1) * stride + columns, dtype=dtype)
    except RuntimeError as error:
        pytest.skip(f"no address space for {rows} rows {stride} apart: {error}")
    return storage.as_strided((rows, columns), (stride, 1))


STRIDE = 2**30 + 192  # the third row begins beyond 2^31


def test_strides_beyond_32_bits_reach_the_right_rows_of_fp8_operands() -> None:
    generator = torch.Generator().manual_seed(3)
    a = deep_gemm.per_token_cast_to_fp8(
        torch.randn(3, 256, generator=generator).bfloat16(), use_ue8m0=False
    )
    b = deep_gemm.per_block_cast_to_fp8(
        torch.randn(40, 256, generator=generator).bfloat16(), use_ue8m0=False
    )
    far = huge(3, 256, STRIDE, torch.float8_e4m3fn)
    far.copy_(a[0])
    want, got = (torch.full((3, 40), float("nan"), dtype=torch.float32) for _ in range(2))
    deep_gemm.fp8_gemm_nt(a, b, want)
    deep_gemm.fp8_gemm_nt((far, a[1]), b, got)
    assert torch.equal(got, want)
    # As weights too: b is read by another path.
    near = deep_gemm.per_block_cast_to_fp8(
        torch.randn(3, 256, generator=generator).bfloat16(), use_ue8m0=False
    )
    far.copy_(near[0])
    want, got = (torch.full((3, 3), float("nan"), dtype=torch.float32) for _ in range(2))
    deep_gemm.fp8_gemm_nt(a, near, want)
    deep_gemm.fp8_gemm_nt(a, (far, near[1]), got)
    assert torch.equal(got, want)


def test_strides_beyond_32_bits_reach_the_right_rows_of_the_output() -> None:
    generator = torch.Generator().manual_seed(4)
    a = torch.randn(3, 70, generator=generator).bfloat16()
    b = torch.randn(50, 70, generator=generator).bfloat16()
    far = huge(3, 50, STRIDE, torch.bfloat16)
    beside = far.as_strided((2, 8), (STRIDE, 1), 50)  # what comes after a row's end
    beside.zero_()
    want = torch.full((3, 50), float("nan"), dtype=torch.bfloat16)
    deep_gemm.bf16_gemm_nt(a, b, want)
    deep_gemm.bf16_gemm_nt(a, b, far)
    assert torch.equal(far, want)
    assert not beside.any(), "written beyond the end of a row"


def test_more_than_2_to_the_31_bytes_between_the_columns_of_a_transposed_operand() -> None:
    generator = torch.Generator().manual_seed(5)
    a = torch.randn(3, 64, generator=generator).bfloat16()  # as tn stores it: [k, m]
    b = torch.randn(5, 3, generator=generator).bfloat16()
    far = huge(3, 64, STRIDE, torch.bfloat16)
    far.copy_(a)
    want, got = (torch.full((64, 5), float("nan"), dtype=torch.float32) for _ in range(2))
    deep_gemm.bf16_gemm_tn(a, b.t().contiguous(), want)
    deep_gemm.bf16_gemm_tn(far, b.t().contiguous(), got)
    assert torch.equal(got, want)
