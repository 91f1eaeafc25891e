"""Products without scales or tiles of their own: `cublaslt_gemm_*`, `batched_syrk`, `batched_symm`,
and `fp8_gemm_nt_skip_head_mid`, which is `fp8_gemm_nt` into the kept columns of d.

cublaslt_gemm_nt(a, b, d, c=d)          # torch's own matrix product, any dtypes that torch takes
batched_syrk(a, d)                      # d = a @ a^T
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .. import errors
from ._args import Pair, pair
from .dense import fp8_gemm_nt

__all__ = [
    "batched_symm",
    "batched_syrk",
    "cublaslt_gemm_nn",
    "cublaslt_gemm_nt",
    "cublaslt_gemm_tn",
    "cublaslt_gemm_tt",
    "fp8_gemm_nt_skip_head_mid",
]

_FP8 = (torch.float8_e4m3fn, torch.float8_e5m2)


def _require(
    is_kept: bool, op: str, argument: str, given: object, rule: tuple[str, str, str]
) -> None:
    if is_kept:
        return
    if isinstance(given, torch.Tensor):
        given = f"{str(given.dtype)[6:]} {tuple(given.shape)}"
    raise errors.InvalidArgument(errors.describe(op, argument, str(given), *rule))


def _exact(x: torch.Tensor) -> torch.Tensor:
    """An 8-bit float is a bfloat16 value: nothing is rounded."""
    return x.bfloat16() if x.dtype in _FP8 else x


def _multiply(
    op: str, a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, c: torch.Tensor | None
) -> None:
    """d = a @ b (+ c), matrices or batches of them, by torch; sums in float32."""
    shape = (*a.shape[:-1], b.size(-1))
    _require(
        a.size(-1) == b.size(-2) and a.shape[:-2] == b.shape[:-2],
        op,
        "b",
        b,
        ("SAME_K", f"a is {tuple(a.shape)} here, so b has {a.size(-1)} rows and the same batch",
         "check the letters of the name against how the operands are stored"),
    )  # fmt: skip
    for name, x in (("d", d), ("c", c)):
        if x is not None:
            _require(
                tuple(x.shape) == shape,
                op,
                name,
                x,
                (
                    "SHAPE_D",
                    f"the product is {shape}",
                    f"allocate {name} of that shape",
                ),
            )
    _require(
        c is None or c.dtype == d.dtype,
        op,
        "c",
        c,
        ("DTYPE_C", f"c has the dtype of d, {d.dtype}", "cast c, or allocate d as c is"),
    )
    if d.numel() == 0:
        return
    lhs, rhs = _exact(a), _exact(b)
    if lhs.dtype == rhs.dtype == d.dtype and c is None:
        torch.matmul(lhs, rhs, out=d)
        return
    if lhs.is_cuda and lhs.dim() == 2 and lhs.dtype == rhs.dtype != torch.float32:
        product = torch.mm(lhs, rhs, out_dtype=torch.float32)
    else:
        # Why float32 on both sides: a product of two dtypes, or a sum that is rounded once.
        product = torch.matmul(lhs.float(), rhs.float())
    d.copy_(product if c is None else product + c.float())


def _vendor(
    layout: str, a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, c: torch.Tensor | None
) -> None:
    op = f"cublaslt_gemm_{layout}"
    for name, x in (("a", a), ("b", b), ("d", d)):
        _require(
            x.dim() == 2,
            op,
            name,
            x,
            ("RANK_MATRIX", f"{name} is a matrix, with 2 dimensions", "flatten the leading ones"),
        )
    lhs = a if layout[0] == "n" else a.t()
    _multiply(op, lhs, b.t() if layout[1] == "t" else b, d, c)


def cublaslt_gemm_nt(
    a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, c: torch.Tensor | None = None
) -> None:
    """d = a @ b^T (+ c), by torch: a [m, k], b [n, k]. FP8 data are used raw, without scales."""
    _vendor("nt", a, b, d, c)


def cublaslt_gemm_nn(
    a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, c: torch.Tensor | None = None
) -> None:
    """`cublaslt_gemm_nt` with b stored [k, n]."""
    _vendor("nn", a, b, d, c)


def cublaslt_gemm_tn(
    a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, c: torch.Tensor | None = None
) -> None:
    """`cublaslt_gemm_nt` with a stored [k, m], b stored [k, n]."""
    _vendor("tn", a, b, d, c)


def cublaslt_gemm_tt(
    a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, c: torch.Tensor | None = None
) -> None:
    """`cublaslt_gemm_nt` with a stored [k, m]."""
    _vendor("tt", a, b, d, c)


def batched_syrk(a: torch.Tensor, d: torch.Tensor) -> None:
    """d = a @ a^T, of a matrix or of a batch of them."""
    _multiply("batched_syrk", a, a.transpose(-1, -2), d, None)


def batched_symm(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor) -> None:
    """d = a @ b, where a is symmetric by promise; matrices or batches of them."""
    _multiply("batched_symm", a, b, d, None)


def fp8_gemm_nt_skip_head_mid(
    a: Pair,
    b: Pair,
    d: torch.Tensor,
    head_splits: Sequence[int],
    recipe: Sequence[int] | None = None,
    compiled_dims: str = "nk",
    disable_ue8m0_cast: bool = False,
) -> None:
    """`fp8_gemm_nt` into heads of d laid out [left | mid | right]; the mid columns stay unwritten.

    `head_splits` is (left, mid, right): a head has left + right columns of the product, so d has
    n + n / (left + right) * mid columns.
    """
    op = "fp8_gemm_nt_skip_head_mid"
    left, mid, right = head_splits
    n = pair(op, "b", b)[0].size(0)
    _require(
        min(left, mid, right) >= 0 and left + right > 0 and n % (left + right) == 0,
        op,
        "head_splits",
        tuple(head_splits),
        ("HEAD_SPLITS", f"heads of left + right columns divide n, here {n}", "check the splits"),
    )
    heads = n // (left + right)
    columns = n + heads * mid
    _require(
        d.dim() == 2 and d.size(1) == columns,
        op,
        "d",
        d,
        ("SHAPE_D", f"d has {columns} columns: {heads} heads of {left + mid + right}",
         "allocate d with its gaps"),
    )  # fmt: skip
    product = torch.empty((d.size(0), n), dtype=d.dtype, device=d.device)
    fp8_gemm_nt(
        a, b, product, recipe=recipe, compiled_dims=compiled_dims,
        disable_ue8m0_cast=disable_ue8m0_cast,
    )  # fmt: skip
    kept, target = product.unflatten(1, (heads, -1)), d.unflatten(1, (heads, -1))
    target[..., :left] = kept[..., :left]
    target[..., left + mid :] = kept[..., left:]
