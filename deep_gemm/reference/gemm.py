"""Dense GEMM in plain torch: the definition of right for `fp8_gemm_*` and `bf16_gemm_*`.

    want = reference.fp8_gemm(a, a_scale, b, b_scale)            # float64 [m, n]
    want = reference.bf16_gemm(a, b, c=c)

Shapes are those of the `nt` form (contract 2.3, 2.4): a [m, k], b [n, k]; transpose operands and
scales for the other three. Results are not rounded to an output type: the caller compares with
the budget of its type.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ._scales import dequantise

__all__ = ["bf16_gemm", "fp8_gemm"]


def _finish(product: torch.Tensor, c: torch.Tensor | None, alpha: float | None) -> torch.Tensor:
    if alpha is not None:
        product = product * alpha
    return product if c is None else product + c.to(product.dtype)


def fp8_gemm(
    a: torch.Tensor,
    a_scale: torch.Tensor,
    b: torch.Tensor,
    b_scale: torch.Tensor,
    c: torch.Tensor | None = None,
    *,
    recipe: Sequence[int] | None = None,
    recipe_a: Sequence[int] | None = None,
    recipe_b: Sequence[int] | None = None,
    alpha: float | None = None,
    dtype: torch.dtype = torch.float64,
) -> torch.Tensor:
    """alpha * (a * a_scale) @ (b * b_scale)^T + c, computed in `dtype`.

    a [m, k], b [n, k]: float8_e4m3fn or packed FP4. Scales: float32 or packed UE8M0, one value per
    (gran_m, gran_k_a) elements of a and (gran_n, gran_k_b) of b. Default recipe: (1, 128, 128), or
    (1, 1, 128) when b_scale is packed. Raises ValueError when a scale has too few entries.
    """
    if recipe is not None:
        recipe_a, recipe_b = (recipe[0], recipe[2]), (recipe[1], recipe[2])
    if recipe_a is None:
        recipe_a = (1, 128)
    if recipe_b is None:
        recipe_b = (1, 128) if b_scale.dtype == torch.int32 else (128, 128)
    lhs = dequantise(a, a_scale, recipe_a[0], recipe_a[1], dtype)
    rhs = dequantise(b, b_scale, recipe_b[0], recipe_b[1], dtype)
    return _finish(lhs @ rhs.transpose(-1, -2), c, alpha)


def bf16_gemm(
    a: torch.Tensor,
    b: torch.Tensor,
    c: torch.Tensor | None = None,
    *,
    alpha: float | None = None,
    dtype: torch.dtype = torch.float64,
) -> torch.Tensor:
    """alpha * a @ b^T + c, computed in `dtype`; a [m, k], b [n, k] of any floating type."""
    return _finish(a.to(dtype) @ b.to(dtype).transpose(-1, -2), c, alpha)
