"""Hyper-connections: `tf32_hc_prenorm_gemm` under its published signature.

d, sqr_sum = x.new_empty(16, m, n, dtype=torch.float32), x.new_empty(16, m, dtype=torch.float32)
tf32_hc_prenorm_gemm(x, fn, d, sqr_sum, num_splits=16)      # the caller sums over dimension 0
"""

from __future__ import annotations

import torch

from .. import _eager

_TF32_HC_PRENORM_GEMM = _eager.operator("tf32_hc_prenorm_gemm")

__all__ = ["tf32_hc_prenorm_gemm"]


def tf32_hc_prenorm_gemm(
    a: torch.Tensor,
    b: torch.Tensor,
    d: torch.Tensor,
    sqr_sum: torch.Tensor,
    num_splits: int | None = None,
) -> None:
    """d = a @ tf32(b)^T and sqr_sum[m] = sum of a[m]^2, in float32; a is bfloat16, b float32.

    With `num_splits` both outputs have it as first dimension: part s of k (in 64-wide blocks) is
    in d[s] and sqr_sum[s], zero where a part is empty.
    """
    _TF32_HC_PRENORM_GEMM(a, b, d, sqr_sum, num_splits)
