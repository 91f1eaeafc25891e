"""Batched products in einsum notation, in plain torch (contract 2.9 and 2.10).

want = reference.einsum("bhr,hdr->bhd", a, b)
want = reference.fp8_einsum("bhr,hdr->bhd", (a, a_scale), (b, b_scale))
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ._scales import dequantise

__all__ = ["einsum", "fp8_einsum"]

# Permutation of a and of b to (batch, mn, k), and of the [batch, m, n] product to the output.
_FORMS = {
    "bhr,hdr->bhd": ((1, 0, 2), (0, 1, 2), (1, 0, 2)),
    "bhd,hdr->bhr": ((1, 0, 2), (0, 2, 1), (1, 0, 2)),
    "bhd,bhr->hdr": ((1, 2, 0), (1, 2, 0), (0, 1, 2)),
}


def einsum(
    expr: str,
    a: torch.Tensor,
    b: torch.Tensor,
    c: torch.Tensor | None = None,
    *,
    dtype: torch.dtype = torch.float64,
) -> torch.Tensor:
    """The three batched forms, and "bmk,bnk->mn", which sums over the batch.

    Raises ValueError for another expression.
    """
    if expr not in _FORMS and expr != "bmk,bnk->mn":
        raise ValueError(f"Unsupported einsum expression: {expr}")
    out = torch.einsum(expr, a.to(dtype), b.to(dtype))
    return out if c is None else out + c.to(dtype)


def fp8_einsum(
    expr: str,
    a: tuple[torch.Tensor, torch.Tensor],
    b: tuple[torch.Tensor, torch.Tensor],
    c: torch.Tensor | None = None,
    *,
    recipe: Sequence[int] = (1, 128, 128),
    dtype: torch.dtype = torch.float64,
) -> torch.Tensor:
    """The three batched forms; data and scales are given in stored (pre-permute) order.

    Raises ValueError for another expression.
    """
    if expr not in _FORMS:
        raise ValueError(f"Unsupported einsum expression: {expr}")
    permute_a, permute_b, permute_d = _FORMS[expr]
    lhs = dequantise(a[0].permute(permute_a), a[1].permute(permute_a), recipe[0], recipe[2], dtype)
    rhs = dequantise(b[0].permute(permute_b), b[1].permute(permute_b), recipe[1], recipe[2], dtype)
    out = (lhs @ rhs.transpose(1, 2)).permute(permute_d)
    return out if c is None else out + c.to(dtype)
