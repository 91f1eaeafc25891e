"""Scale-factor layouts that kernels read, as plain torch.

    sf = get_mn_major_tma_aligned_tensor(scale)            # float32, rows contiguous and padded
    words = get_mn_major_tma_aligned_packed_ue8m0_tensor(scale)    # four exponents per int32
    sf = transform_sf_into_required_layout(scale, mn, k, (1, 128, 128), None, True)

Nothing here reads a value back from a GPU, so every function can be captured in a CUDA graph. A
scale that cannot be packed exactly is refused, never rounded: by InvalidArgument on the CPU and in
check mode (`DG_CHECK=1`), by a device assertion otherwise. Quantising lives in `utils/math.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .. import errors
from ..knobs import (
    get_k_alignment_for_contiguous_layout,
    get_m_alignment_for_contiguous_layout,
    get_mk_alignment_for_contiguous_layout,
    get_theoretical_mk_alignment_for_contiguous_layout,
    set_mk_alignment_for_contiguous_layout,
)
from ._packing import (
    SCALE_ALIGN,
    empty_mn_major,
    exponents_of,
    given_text,
    k_group_rows,
    mn_major_strides,
    psum_rows,
    require,
    require_float_scale,
    words_of,
)
from .math import align, ceil_div

__all__ = [
    "get_k_alignment_for_contiguous_layout",
    "get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor",
    "get_m_alignment_for_contiguous_layout",
    "get_mk_alignment_for_contiguous_layout",
    "get_mn_major_tma_aligned_packed_ue8m0_tensor",
    "get_mn_major_tma_aligned_tensor",
    "get_theoretical_mk_alignment_for_contiguous_layout",
    "get_tma_aligned_size",
    "set_mk_alignment_for_contiguous_layout",
    "transform_sf_into_required_layout",
]


def get_tma_aligned_size(x: int, element_size: int) -> int:
    """Smallest size >= x whose elements of `element_size` bytes fill whole 16-byte units."""
    return align(x, 16 // element_size)


def get_mn_major_tma_aligned_tensor(sf: torch.Tensor) -> torch.Tensor:
    """float32 [G?, mn, n] with strides (align(mn, 4) * n, 1, align(mn, 4)).

    A tensor that has these strides already is returned itself, without a copy. The padding rows
    mn .. align(mn, 4) of a copy are uninitialised.
    """
    require_float_scale("get_mn_major_tma_aligned_tensor", sf)
    wanted = mn_major_strides(sf, sf.size(-1))
    # Why: an address that is not a multiple of 16 bytes cannot be loaded as it stands.
    if sf.stride() == wanted and sf.storage_offset() % SCALE_ALIGN == 0:
        return sf
    return empty_mn_major(sf, sf.size(-1), torch.float32).copy_(sf)


def get_mn_major_tma_aligned_packed_ue8m0_tensor(
    sf: torch.Tensor, psum_layout: torch.Tensor | None = None
) -> torch.Tensor:
    """float32 [G?, mn, n] powers of two to int32 [G?, mn, cdiv(n, 4)], rows contiguous.

    Byte b of word p is the exponent of column 4 p + b, 0 past the last column. With `psum_layout`
    (int32 [G], end row of each group, group starts aligned to the contiguous-layout alignment) the
    rows outside every group become 0 whatever they hold.
    """
    op = "get_mn_major_tma_aligned_packed_ue8m0_tensor"
    require_float_scale(op, sf)
    mn, num_columns = sf.shape[-2:]
    live = None
    if psum_layout is not None:
        require(
            sf.dim() == 2 or sf.size(0) == 1,
            op,
            "sf",
            sf,
            "SCALE_PSUM_ONE_GROUP",
            "a psum layout describes the rows of one two-dimensional scale",
            "pass sf without a group dimension",
        )
        live = psum_rows(mn, psum_layout, get_mk_alignment_for_contiguous_layout()).unsqueeze(1)
    exponents = exponents_of(op, sf.contiguous(), live)
    if live is not None:
        exponents = torch.where(live, exponents, 0)
    packed_columns = ceil_div(num_columns, 4)
    padded = torch.nn.functional.pad(exponents, (0, packed_columns * 4 - num_columns))
    return empty_mn_major(sf, packed_columns, torch.int32).copy_(words_of(padded))


def get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor(
    sf: torch.Tensor,
    grouped_layout: torch.Tensor,
    ks_cpu: Sequence[int] | None = None,
    gran_k: int = 128,
    k_alignment: int | None = None,
    use_psum_layout: bool = False,
    use_padded_sf_layout: bool = False,
    *,
    ks: Sequence[int] | None = None,
) -> torch.Tensor:
    """Pack the scales of a k-grouped operand: float32 [R, mn] to int32 [P, mn], contiguous.

    Groups lie back to back along R; each starts a new packed row, so P = sum of cdiv(rows, 4).
    Without `ks_cpu` (psum only) P is (R + 3 G) // 4 and rows after the last group are 0.
    `grouped_layout` is int32 [G]: the k of each group, or with `use_psum_layout` its end along k.
    `ks` is another name of `ks_cpu`.
    """
    op = "get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor"
    sizes = ks_cpu if ks_cpu is not None else ks
    sizes = list(sizes) if sizes is not None and len(sizes) > 0 else None
    require_float_scale(op, sf)
    require(
        sizes is not None or use_psum_layout,
        op,
        "ks_cpu",
        sizes,
        "K_GROUPED_SIZES",
        "the size of the result follows from the list of group sizes",
        "pass ks_cpu, or a psum layout with use_psum_layout=True",
    )
    if use_padded_sf_layout:
        raise errors.Unsupported(
            errors.describe(
                op,
                "use_padded_sf_layout",
                "True",
                "K_GROUPED_COMPACT",
                "only the compact layout exists here: groups back to back",
                "leave use_padded_sf_layout out",
            )
        )
    num_rows, mn = sf.shape
    num_groups = grouped_layout.numel()
    alignment = get_mk_alignment_for_contiguous_layout() if k_alignment is None else k_alignment
    if sizes is not None and not use_psum_layout:
        total = sum(ceil_div(k, gran_k) for k in sizes)
        require(
            total == num_rows and len(sizes) == num_groups,
            op,
            "ks_cpu",
            sizes,
            "K_GROUPED_ROWS",
            f"one size per group ({num_groups}), and their scale rows add up to {num_rows}",
            "pass the sizes that the scales were made for",
        )
    if sizes is None:
        num_words = (num_rows + 3 * num_groups) // 4
    else:
        num_words = sum(ceil_div(ceil_div(k, gran_k), 4) for k in sizes)
    if num_words == 0 or mn == 0 or num_rows == 0:
        return sf.new_zeros((num_words, mn), dtype=torch.int32)

    rows = k_group_rows(sf, grouped_layout, sizes, gran_k, alignment, use_psum_layout)
    row_ends = rows.cumsum(0)
    word_ends = ((rows + 3) // 4).cumsum(0)
    word = torch.arange(num_words, device=sf.device)
    group = torch.searchsorted(word_ends, word, right=True)
    inside = group < num_groups
    group = group.clamp(max=num_groups - 1)
    first_word = word_ends[group] - (rows[group] + 3) // 4
    first_row = row_ends[group] - rows[group] + 4 * (word - first_word)
    source = first_row.unsqueeze(1) + torch.arange(4, device=sf.device)
    valid = inside.unsqueeze(1) & (source < row_ends[group].unsqueeze(1)) & (source < num_rows)
    gathered = sf[source.clamp(0, num_rows - 1).flatten()].view(num_words, 4, mn)
    exponents = torch.where(
        valid.unsqueeze(2), exponents_of(op, gathered.contiguous(), valid.unsqueeze(2)), 0
    )
    return words_of(exponents.transpose(1, 2)).squeeze(-1).contiguous()


def _packs_scales(device: torch.device) -> bool:
    """Whether kernels of this device read packed UE8M0 scales (capability 10.x and 12.x)."""
    if device.type != "cuda" or not torch.cuda.is_available():
        return False
    return torch.cuda.get_device_capability(device)[0] in (10, 12)


def _is_row_or_column_major(sf: torch.Tensor) -> bool:
    rows, columns = sf.shape[-2:]

    def packed(inner: int, outer: int, inner_size: int, outer_size: int) -> bool:
        return (inner == 1 or inner_size == 1) and (outer == inner_size or outer_size == 1)

    row_major = packed(sf.stride(-1), sf.stride(-2), columns, rows)
    column_major = packed(sf.stride(-2), sf.stride(-1), rows, columns)
    tight = sf.dim() == 2 or sf.size(0) == 1 or sf.stride(0) == rows * columns
    return (row_major or column_major) and tight


def transform_sf_into_required_layout(
    sf: torch.Tensor,
    mn: int,
    k: int,
    recipe: Sequence[int],
    num_groups: int | None = None,
    is_sfa: bool | None = None,
    disable_ue8m0_cast: bool = False,
    psum_layout: torch.Tensor | None = None,
) -> torch.Tensor:
    """The scale of one operand in the layout that the GEMMs of its device read.

    `recipe` is (gran_m, gran_n, gran_k) together with `is_sfa`, or (gran_mn, gran_k) without it.
    On the CPU and on Hopper float32 stays float32: per-row scales become MN-major and aligned,
    128x128 block scales are returned themselves. On Blackwell float32 is expanded to one row per
    operand row and packed. int32 scales are checked and returned themselves.
    """
    op = "transform_sf_into_required_layout"
    parts = tuple(recipe)
    require(
        (len(parts) == 3 and is_sfa is not None) or (len(parts) == 2 and is_sfa is None),
        op,
        "recipe",
        f"{parts} with is_sfa={is_sfa}",
        "RECIPE_FORM",
        "three granularities need is_sfa, two forbid it",
        "pass (gran_m, gran_n, gran_k) and is_sfa, or (gran_mn, gran_k) alone",
    )
    gran_mn = parts[0] if len(parts) == 2 or is_sfa else parts[1]
    gran_k = parts[-1]
    columns = ceil_div(k, gran_k if sf.dtype == torch.float32 else 4 * gran_k)
    shape = (ceil_div(mn, gran_mn), columns)
    shape = shape if num_groups is None else (num_groups, *shape)
    require(
        sf.dtype in (torch.float32, torch.int32) and tuple(sf.shape) == shape,
        op,
        "sf",
        sf,
        "SCALE_SHAPE",
        f"mn={mn}, k={k} and granularity {(gran_mn, gran_k)} need float32 or int32 of {shape}",
        "quantise with the granularity of the recipe",
    )
    packs = _packs_scales(sf.device)
    if sf.dtype == torch.int32 and gran_mn == 1 and gran_k in (32, 128):
        return _checked_packed(op, sf, mn)
    if sf.dtype == torch.float32 and (not packs or disable_ue8m0_cast) and gran_k in (32, 128):
        if gran_mn == 1 and (gran_k == 128 or not packs):
            return get_mn_major_tma_aligned_tensor(sf)
        if (gran_mn, gran_k) == (128, 128):
            require(
                _is_row_or_column_major(sf),
                op,
                "sf",
                sf,
                "SCALE_CONTIGUOUS",
                "block scales are read in place: contiguous, or the transpose of contiguous",
                "call .contiguous() on the scale",
            )
            return sf
    if sf.dtype == torch.float32 and packs and gran_k in (32, 128) and not disable_ue8m0_cast:
        if gran_mn != 1:
            row = torch.arange(mn, device=sf.device) // gran_mn
            sf = sf.index_select(-2, row)
        return get_mn_major_tma_aligned_packed_ue8m0_tensor(sf, psum_layout)
    raise errors.Unsupported(
        errors.describe(
            op,
            "sf",
            f"{given_text(sf)} with granularity {(gran_mn, gran_k)}",
            "SCALE_TRANSFORM",
            f"no kernel of {sf.device.type} reads this scale"
            f" (disable_ue8m0_cast={disable_ue8m0_cast})",
            "use granularity (1, 128) or (128, 128) with float32 scales",
        )
    )


def _checked_packed(op: str, sf: torch.Tensor, mn: int) -> torch.Tensor:
    pitch = sf.stride(-1)
    require(
        (sf.stride(-2) == 1 or mn == 1)
        and (sf.size(-1) == 1 or (pitch >= align(mn, SCALE_ALIGN) and pitch % SCALE_ALIGN == 0))
        and (sf.dim() == 2 or sf.size(0) == 1 or sf.stride(0) == pitch * sf.size(-1)),
        op,
        "sf",
        sf,
        "SCALE_PACKED_LAYOUT",
        f"packed scales have stride 1 along rows, >= {align(mn, SCALE_ALIGN)} along words",
        "build them with get_mn_major_tma_aligned_packed_ue8m0_tensor",
    )
    return sf
