"""Grouped products whose rows are gathered first: the published names of an earlier generation.

m_grouped_bf16_gemm_nt_contiguous_tl(a, b, d, m_indices)
a_fused_m_grouped_bf16_gemm_nt_contiguous_tl(a, b, d, (m_indices, m_row_indices))
b_fused_k_grouped_bf16_gemm_tn_contiguous_tl(a, b, d, (k_indices, k_start, k_end), acc=True)

Served by the grouped operators: rows are gathered with torch, nothing is read back to the host.
bfloat16 operands; `m_indices` has a group a row, whole tiles of 128 of one group, -1 for padding.
"""

from __future__ import annotations

import torch

from ._C import (
    k_grouped_bf16_gemm_tn_contiguous,
    m_grouped_bf16_gemm_nn_contiguous,
    m_grouped_bf16_gemm_nt_contiguous,
)
from .knobs import get_mk_alignment_for_contiguous_layout

__all__ = [
    "a_fused_k_grouped_bf16_gemm_tn_contiguous_tl",
    "a_fused_m_grouped_bf16_gemm_nn_contiguous_tl",
    "a_fused_m_grouped_bf16_gemm_nt_contiguous_tl",
    "b_fused_k_grouped_bf16_gemm_tn_contiguous_tl",
    "m_grouped_bf16_gemm_nn_contiguous_tl",
    "m_grouped_bf16_gemm_nt_contiguous_tl",
]

Mappings = tuple[torch.Tensor, torch.Tensor]
Handle = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def m_grouped_bf16_gemm_nt_contiguous_tl(
    a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, m_indices: torch.Tensor
) -> None:
    """d[i] = a[i] @ b[m_indices[i]]^T for a [m, k], b [groups, n, k]."""
    m_grouped_bf16_gemm_nt_contiguous(a, b, d, m_indices)


def m_grouped_bf16_gemm_nn_contiguous_tl(
    a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, m_indices: torch.Tensor
) -> None:
    """d[i] = a[i] @ b[m_indices[i]] for a [m, k], b [groups, k, n]."""
    m_grouped_bf16_gemm_nn_contiguous(a, b, d, m_indices)


def _gathered(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Rows of x; what is below zero is padding and takes any."""
    return x.index_select(0, rows.clamp(min=0).long())


def a_fused_m_grouped_bf16_gemm_nt_contiguous_tl(
    a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, mappings: Mappings
) -> None:
    """d[i] = a[m_row_indices[i]] @ b[m_indices[i]]^T; mappings is (m_indices, m_row_indices)."""
    m_indices, m_row_indices = mappings
    m_grouped_bf16_gemm_nt_contiguous(_gathered(a, m_row_indices), b, d, m_indices)


def a_fused_m_grouped_bf16_gemm_nn_contiguous_tl(
    a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, mappings: Mappings
) -> None:
    """`a_fused_m_grouped_bf16_gemm_nt_contiguous_tl` with b stored [groups, k, n]."""
    m_indices, m_row_indices = mappings
    m_grouped_bf16_gemm_nn_contiguous(_gathered(a, m_row_indices), b, d, m_indices)


def _k_grouped(
    a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, handle: Handle, acc: bool, fuses_a: bool
) -> None:
    """Each group's rows move to an aligned start, as the grouped operator wants them."""
    k_indices, start, end = handle
    alignment = get_mk_alignment_for_contiguous_layout()
    sizes = (end - start).long()
    ends_aligned = ((sizes + alignment - 1) // alignment * alignment).cumsum(0)
    starts_aligned = torch.nn.functional.pad(ends_aligned[:-1], (1, 0))
    # Why this many: the sizes are on the device, and no group pads more than one alignment.
    num_rows = -(-k_indices.numel() // alignment) * alignment + sizes.numel() * alignment
    row = torch.arange(num_rows, device=a.device)
    group = torch.searchsorted(ends_aligned, row, right=True).clamp(max=sizes.numel() - 1)
    inside = row - starts_aligned[group] < sizes[group]
    position = torch.where(inside, start.long()[group] + row - starts_aligned[group], 0)
    gathered = _gathered(k_indices, position).clamp(min=0).long()
    rows_a = a.index_select(0, gathered if fuses_a else position)
    rows_b = b.index_select(0, position if fuses_a else gathered)
    ends = (starts_aligned + sizes).to(torch.int32)
    out = d if d.dtype == torch.float32 else torch.empty_like(d, dtype=torch.float32)
    if acc and out is not d:
        out.copy_(d)
    k_grouped_bf16_gemm_tn_contiguous(
        rows_a, rows_b, out, None, ends, out if acc else None, use_psum_layout=True
    )
    if out is not d:
        d.copy_(out)


def a_fused_k_grouped_bf16_gemm_tn_contiguous_tl(
    a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, handle: Handle, acc: bool
) -> None:
    """d[g] (+)= sum over i from k_start[g] to k_end[g] of a[k_indices[i]] times b[i], transposed.

    a is [rows, m], b [sum of k, n], d [groups, m, n]; handle is (k_indices, k_start, k_end).
    """
    _k_grouped(a, b, d, handle, acc, True)


def b_fused_k_grouped_bf16_gemm_tn_contiguous_tl(
    a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, handle: Handle, acc: bool
) -> None:
    """`a_fused_k_grouped_bf16_gemm_tn_contiguous_tl` with the rows of b gathered instead."""
    _k_grouped(a, b, d, handle, acc, False)
