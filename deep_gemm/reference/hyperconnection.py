"""Hyper-connection prenorm GEMM in plain torch (contract 2.17).

d, sqr_sum = reference.tf32_hc_prenorm_gemm(a, b, num_splits=16)
"""

from __future__ import annotations

import torch

__all__ = ["tf32_hc_prenorm_gemm"]

_BLOCK_K = 64


def tf32_hc_prenorm_gemm(
    a: torch.Tensor,
    b: torch.Tensor,
    num_splits: int | None = None,
    *,
    dtype: torch.dtype = torch.float64,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(a @ b^T, row sums of a^2) for a [m, k], b [n, k]; with splits one such pair per part of k.

    Split s covers a contiguous range of 64-wide blocks of k, the first `blocks % splits` one more;
    a split without blocks is zero. The sum over splits is the result without splits.
    """
    lhs, rhs = a.to(dtype), b.to(dtype)
    if num_splits is None:
        return lhs @ rhs.t(), (lhs * lhs).sum(1)
    blocks = -(-a.size(1) // _BLOCK_K)
    d = torch.zeros((num_splits, a.size(0), b.size(0)), dtype=dtype, device=a.device)
    sqr_sum = torch.zeros((num_splits, a.size(0)), dtype=dtype, device=a.device)
    start = 0
    for split in range(num_splits):
        count = blocks // num_splits + (split < blocks % num_splits)
        part = slice(start * _BLOCK_K, (start + count) * _BLOCK_K)
        d[split] = lhs[:, part] @ rhs[:, part].t()
        sqr_sum[split] = (lhs[:, part] ** 2).sum(1)
        start += count
    return d, sqr_sum
