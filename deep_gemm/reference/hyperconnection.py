"""Hyper-connection prenorm GEMM in plain torch (contract 2.17).

d, sqr_sum = reference.tf32_hc_prenorm_gemm(a, b, num_splits=16)
round_tf32(torch.tensor(1 + 2**-11))            # 1 + 2**-10: ties go away from zero
"""

from __future__ import annotations

import torch

__all__ = ["round_tf32", "tf32_hc_prenorm_gemm"]

_BLOCK_K = 64


def round_tf32(x: torch.Tensor) -> torch.Tensor:
    """float32 to the nearest value with 11 significant bits, ties away; inf and NaN stay."""
    bits = x.contiguous().view(torch.int32)
    rounded = (bits + 0x1000) & ~0x1FFF
    return torch.where(x.isfinite(), rounded.view(torch.float32), x)


def tf32_hc_prenorm_gemm(
    a: torch.Tensor,
    b: torch.Tensor,
    num_splits: int | None = None,
    *,
    dtype: torch.dtype = torch.float64,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(a @ tf32(b)^T, row sums of a^2) for a [m, k], b [n, k]; with splits a pair per part of k.

    Split s covers a contiguous range of 64-wide blocks of k, the first `blocks % splits` one more;
    a split without blocks is zero. The sum over splits is the result without splits.
    """
    lhs, rhs = a.to(dtype), round_tf32(b).to(dtype)
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
