"""Fakes and references of the grouped GEMMs, for `_fake.py` to register.

    FAKES["m_grouped_bf16_gemm_nt_masked"](a, b, d, masked_m, 64)       # nothing to create

The `_reference_*` operators are what the C++ side calls where it finds no C++ compiler; they write
d in place and leave alone what the kernels leave alone.
"""

from __future__ import annotations

import itertools

import torch

from .reference import dequantise, k_grouped, m_grouped_contiguous, m_grouped_masked, psum_ranges
from .utils.math import align, ceil_div

__all__ = ["FAKES", "REFERENCES", "REFERENCE_SCHEMAS"]

_COUNTS, _ENDS, _K_ENDS = 2, 1, 4  # of `Grouping` in csrc/problem/grouped_problem.hpp


def _writes_d_in_place(*args: object, **kwargs: object) -> None:
    """Fake of every operator here: `d` is filled and nothing is returned."""


FAKES = {
    name: _writes_d_in_place
    for name in (
        *(f"m_grouped_{x}_gemm_nt_contiguous" for x in ("fp8_fp4", "fp8", "fp4", "bf16")),
        *(f"m_grouped_{x}_gemm_nn_contiguous" for x in ("fp8_fp4", "fp8", "bf16")),
        *(f"m_grouped_{x}_gemm_nt_masked" for x in ("fp8_fp4", "fp8", "fp4", "bf16")),
        *(f"{x}_m_grouped_gemm_nt_masked" for x in ("fp8", "bf16")),
        *(f"k_grouped_{x}_contiguous" for x in ("fp8_gemm_nt", "fp8_gemm_tn")),
        *(f"k_grouped_{x}_contiguous" for x in ("fp4_gemm_nt", "bf16_gemm_tn")),
    )
}

REFERENCE_SCHEMAS = {
    "_reference_m_grouped_gemm": (
        "(Tensor a, Tensor? a_scale, Tensor b, Tensor? b_scale, Tensor(d!) d, Tensor layout,"
        " SymInt grouping, SymInt alignment, bool zero_padding, bool b_is_transposed,"
        " SymInt gran_m, SymInt gran_n, SymInt gran_k_a, SymInt gran_k_b, float alpha) -> ()"
    ),
    "_reference_k_grouped_gemm": (
        "(Tensor a, Tensor? a_scale, Tensor b, Tensor? b_scale, Tensor(d!) d, Tensor? c,"
        " Tensor layout, SymInt grouping, SymInt alignment, bool is_flat, bool scales_aligned,"
        " bool is_rows, SymInt gran_k, float alpha) -> ()"
    ),
}


def _plain(x: torch.Tensor, scale: torch.Tensor | None, gran_mn: int, gran_k: int) -> torch.Tensor:
    if scale is None:
        return x.float()
    return dequantise(x, scale, gran_mn, gran_k, torch.float32)


def _reference_m_grouped_gemm(
    a: torch.Tensor,
    a_scale: torch.Tensor | None,
    b: torch.Tensor,
    b_scale: torch.Tensor | None,
    d: torch.Tensor,
    layout: torch.Tensor,
    grouping: int,
    alignment: int,
    zero_padding: bool,
    b_is_transposed: bool,
    gran_m: int,
    gran_n: int,
    gran_k_a: int,
    gran_k_b: int,
    alpha: float,
) -> None:
    if b_is_transposed:
        b = b.transpose(1, 2)
        b_scale = None if b_scale is None else b_scale.transpose(1, 2)
    lhs = _plain(a, a_scale, gran_m, gran_k_a)
    rhs = _plain(b, b_scale, gran_n, gran_k_b)
    if grouping == _COUNTS:
        counts = layout.clamp(0, a.size(1))
        out, written = m_grouped_masked(lhs, rhs, counts, dtype=torch.float32)
    else:
        use_psum_layout = grouping == _ENDS
        if not use_psum_layout:
            layout = torch.where(layout < rhs.size(0), layout.clamp(min=-1), -1)
        out, written = m_grouped_contiguous(
            lhs, rhs, layout, use_psum_layout=use_psum_layout, alignment=alignment,
            dtype=torch.float32,
        )  # fmt: skip
        if not use_psum_layout:
            written[:] = True
        elif zero_padding:
            for _, end in psum_ranges(layout.tolist(), alignment):
                written[end : align(end, alignment)] = True
    d[written] = (alpha * out[written]).to(d.dtype)


def _scales_of_group(
    scale: torch.Tensor, start: int, k: int, gran_k: int, is_flat: bool
) -> tuple[torch.Tensor, int]:
    """[mn, scales] of the group whose scales begin at `start`, and where the next one's begin."""
    along_k = scale if is_flat else scale.t()
    count = ceil_div(k, gran_k)
    end = start + (ceil_div(count, 4) if scale.dtype == torch.int32 else count)
    return along_k[:, start:end], end


def _reference_k_grouped_gemm(
    a: torch.Tensor,
    a_scale: torch.Tensor | None,
    b: torch.Tensor,
    b_scale: torch.Tensor | None,
    d: torch.Tensor,
    c: torch.Tensor | None,
    layout: torch.Tensor,
    grouping: int,
    alignment: int,
    is_flat: bool,
    scales_aligned: bool,
    is_rows: bool,
    gran_k: int,
    alpha: float,
) -> None:
    sizes = layout.tolist()
    if grouping == _K_ENDS:
        ranges = psum_ranges(sizes, alignment)
    else:
        ends = list(itertools.accumulate(sizes))
        ranges = [(end - k, end) for end, k in zip(ends, sizes, strict=True)]
    at = {"a": 0, "b": 0}
    for group, (start, end) in enumerate(ranges):
        sides = []
        for name, x, scale, mn in (("a", a, a_scale, d.size(1)), ("b", b, b_scale, d.size(2))):
            pack = 2 if x.dtype == torch.int8 else 1
            if is_flat:
                block = x.reshape(-1)[start * mn // pack : end * mn // pack]
                block = block.view(mn, (end - start) // pack)
            elif is_rows:
                block = x[start:end].t()
            else:
                block = x[:, start // pack : end // pack]
            if scale is not None:
                covered = align(end - start, alignment) if scales_aligned else end - start
                part, at[name] = _scales_of_group(scale, at[name], covered, gran_k, is_flat)
                block = dequantise(block, part, 1, gran_k, torch.float32)
            sides.append(block.float())
        product = alpha * k_grouped(sides[0].t(), sides[1].t(), [end - start], dtype=torch.float32)
        d[group] = (product[0] + (0 if c is None else c[group].float())).to(d.dtype)


REFERENCES = {
    "_reference_m_grouped_gemm": _reference_m_grouped_gemm,
    "_reference_k_grouped_gemm": _reference_k_grouped_gemm,
}
