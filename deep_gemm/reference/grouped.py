"""Grouped GEMM in plain torch: contiguous (index and psum layouts), masked, k-grouped.

    want, written = reference.m_grouped_contiguous(a, b, layout, use_psum_layout=True)
    want, written = reference.m_grouped_masked(a, b, masked_m)
    want = reference.k_grouped(a, b, ks, c)

Operands are plain numbers: dequantise scaled ones first (`reference.dequantise`). The boolean
`written` marks the rows whose value is defined (contract 2.6-2.8); other rows are 0 in the result.
The loops read layouts on the host: clarity before speed.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..utils.math import align

__all__ = ["k_grouped", "m_grouped_contiguous", "m_grouped_masked", "psum_ranges"]


def psum_ranges(ends: Sequence[int], alignment: int) -> list[tuple[int, int]]:
    """[start, end) of each group of a psum layout; raises ValueError for an end below its start."""
    ranges = []
    start = 0
    for group, end in enumerate(ends):
        if end < start:
            raise ValueError(f"group {group} ends at {end}, before its aligned start {start}")
        ranges.append((start, end))
        start = align(end, alignment)
    return ranges


def m_grouped_contiguous(
    a: torch.Tensor,
    b: torch.Tensor,
    grouped_layout: torch.Tensor,
    *,
    use_psum_layout: bool = False,
    alignment: int = 128,
    dtype: torch.dtype = torch.float64,
) -> tuple[torch.Tensor, torch.Tensor]:
    """d[r] = a[r] @ b[group of r]^T for a [m_sum, k], b [g, n, k].

    Index layout: `grouped_layout` int32 [m_sum], -1 marks padding. psum layout: int32 [g], the end
    row of each group, group starts aligned. Raises ValueError for a label outside -1 .. g - 1.
    """
    out = torch.zeros((a.size(0), b.size(1)), dtype=dtype, device=a.device)
    written = torch.zeros(a.size(0), dtype=torch.bool, device=a.device)
    if use_psum_layout:
        rows_of = [
            torch.arange(start, end, device=a.device)
            for start, end in psum_ranges(grouped_layout.tolist(), alignment)
        ]
    else:
        if grouped_layout.numel() and not int(grouped_layout.min()) >= -1:
            raise ValueError("a label is below -1")
        if grouped_layout.numel() and not int(grouped_layout.max()) < b.size(0):
            raise ValueError(f"a label is not below the number of groups, {b.size(0)}")
        rows_of = [(grouped_layout == group).nonzero().flatten() for group in range(b.size(0))]
    for group, rows in enumerate(rows_of):
        out[rows] = a[rows].to(dtype) @ b[group].to(dtype).t()
        written[rows] = True
    return out, written


def m_grouped_masked(
    a: torch.Tensor,
    b: torch.Tensor,
    masked_m: torch.Tensor,
    *,
    dtype: torch.dtype = torch.float64,
) -> tuple[torch.Tensor, torch.Tensor]:
    """d[g, :masked_m[g]] = a[g, :masked_m[g]] @ b[g]^T for a [g, m_max, k], b [g, n, k].

    Raises ValueError for a count outside 0 .. m_max.
    """
    num_groups, m_max = a.shape[:2]
    out = torch.zeros((num_groups, m_max, b.size(1)), dtype=dtype, device=a.device)
    written = torch.zeros((num_groups, m_max), dtype=torch.bool, device=a.device)
    for group, count in enumerate(masked_m.tolist()):
        if not 0 <= count <= m_max:
            raise ValueError(f"masked_m[{group}] = {count} is outside 0 .. {m_max}")
        out[group, :count] = a[group, :count].to(dtype) @ b[group].to(dtype).t()
        written[group, :count] = True
    return out, written


def k_grouped(
    a: torch.Tensor,
    b: torch.Tensor,
    ks: Sequence[int],
    c: torch.Tensor | None = None,
    *,
    alignment: int = 1,
    dtype: torch.dtype = torch.float64,
) -> torch.Tensor:
    """d[g] = c[g] + a_g^T @ b_g for a [sum_k, m], b [sum_k, n]; group g is ks[g] rows.

    Group starts are multiples of `alignment`. A group with k = 0 gives c[g], or 0 without c.
    Raises ValueError when the groups need more rows than there are.
    """
    out = torch.zeros((len(ks), a.size(1), b.size(1)), dtype=dtype, device=a.device)
    start = 0
    for group, k in enumerate(ks):
        if start + k > a.size(0):
            raise ValueError(f"group {group} ends at row {start + k} of {a.size(0)}")
        out[group] = a[start : start + k].to(dtype).t() @ b[start : start + k].to(dtype)
        start = align(start + k, alignment)
    return out if c is None else out + c.to(dtype)
