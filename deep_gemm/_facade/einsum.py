"""Batched products in einsum notation: `einsum` (bfloat16) and `fp8_einsum`.

einsum("bhr,hdr->bhd", a, b, d)                               # a GEMM a head
einsum("bmk,bnk->mn", a, b, d, c=d)                           # summed over the batch
fp8_einsum("bhr,hdr->bhd", (a, a_scale), (b, b_scale), d)     # scales as their operand is stored
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .. import _eager, errors
from ..epilogue import Epilogue
from ._args import Pair, factor, tupled

_EINSUM = _eager.operator("einsum")
_FP8_EINSUM = _eager.operator("fp8_einsum", {1: "a", 2: "b"})
_BF16_GEMM_NT = _eager.operator("bf16_gemm_nt")

__all__ = ["einsum", "fp8_einsum"]


def _refuse_factor(op: str, d: Any, epilogue: Epilogue | None) -> None:
    if factor(op, d, None, epilogue) is not None:
        raise errors.Unsupported(
            errors.describe(
                op, "epilogue", "Alpha", "EINSUM_EPILOGUE", "einsum stores the product as it is",
                "scale d afterwards, or one of the operands before",
            )
        )  # fmt: skip


def _rows_of_all_batches(op: str, name: str, x: torch.Tensor) -> torch.Tensor:
    """[b, rows, k] to [rows, b * k]: a sum over the batch is a longer sum over k."""
    if x.dim() != 3:
        raise errors.InvalidArgument(
            errors.describe(
                op,
                name,
                f"{x.dim()} dimensions",
                "EINSUM_RANK",
                f"{name} has 3 dimensions, one a letter",
                "add the missing one with [None]",
            )
        )
    return x.transpose(0, 1).reshape(x.size(1), x.size(0) * x.size(2))


def einsum(
    expr: str,
    a: torch.Tensor,
    b: torch.Tensor,
    d: torch.Tensor,
    c: torch.Tensor | None = None,
    use_cublaslt: bool = False,
    epilogue: Epilogue | None = None,
) -> None:
    """d = (c +) the product that `expr` names, of bfloat16 operands.

    "bhr,hdr->bhd", "bhd,hdr->bhr" and "bhd,bhr->hdr" are a GEMM a head; "bmk,bnk->mn" sums over
    the batch, in one fixed order. d is bfloat16 or float32. `use_cublaslt` changes nothing here.
    """
    if isinstance(use_cublaslt, Epilogue):  # the sixth position of newer releases
        use_cublaslt, epilogue = False, use_cublaslt
    _refuse_factor("einsum", d, epilogue)
    if expr == "bmk,bnk->mn":
        if a.dim() == b.dim() == 3 and a.size(0) != b.size(0):
            raise errors.InvalidArgument(
                errors.describe(
                    "einsum",
                    "b",
                    f"a batch of {b.size(0)}",
                    "EINSUM_BATCH",
                    f"all tensors have the same batch: a has {a.size(0)}",
                    "check the letters of the expression against the shapes",
                )
            )
        rows_a = _rows_of_all_batches("einsum", "a", a)
        _BF16_GEMM_NT(rows_a, _rows_of_all_batches("einsum", "b", b), d, c, None)
    else:
        _EINSUM(expr, a, b, d, c)


def fp8_einsum(
    expr: str,
    a: Pair,
    b: Pair,
    d: torch.Tensor,
    c: torch.Tensor | None = None,
    recipe: Sequence[int] = (1, 128, 128),
    epilogue: Epilogue | None = None,
) -> None:
    """d = (c +) the product that `expr` names: "bhr,hdr->bhd", "bhd,hdr->bhr" or "bhd,bhr->hdr".

    a and b are `(data, scale)` pairs, each scale in the order of its operand's dimensions. Strides
    are free but for one of 1. `recipe` is (gran_m, gran_n, gran_k) of the product of one head.
    """
    a, b = tupled("fp8_einsum", "a", a), tupled("fp8_einsum", "b", b)
    _refuse_factor("fp8_einsum", d, epilogue)
    _FP8_EINSUM(expr, a, b, d, c, *recipe)
