"""Parts of the scale layouts: checks, strides, exponents and words.

    words = words_of(exponents_of("op", sf))        # columns a multiple of 4

The published functions, which say what each layout is, are in `utils/layout.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .. import errors
from ..knobs import is_checking
from .math import align, ceil_div

SCALE_ALIGN = 4  # 16 bytes of a 4-byte scale


def given_text(x: object) -> str:
    if isinstance(x, torch.Tensor):
        return f"{str(x.dtype)[6:]} {tuple(x.shape)}, strides {x.stride()}, {x.device}"
    return repr(x)


def require(ok: bool, op: str, argument: str, given: object, rule: str, why: str, fix: str) -> None:
    """Raise InvalidArgument with the five parts unless `ok`."""
    if not ok:
        raise errors.InvalidArgument(
            errors.describe(op, argument, given_text(given), rule, why, fix)
        )


def mn_major_strides(sf: torch.Tensor, columns: int) -> tuple[int, ...]:
    aligned = align(sf.size(-2), SCALE_ALIGN)
    return (aligned * columns, 1, aligned)[-sf.dim() :]


def empty_mn_major(sf: torch.Tensor, columns: int, dtype: torch.dtype) -> torch.Tensor:
    # Why: sliced from whole columns, so that the padding rows lie inside the storage too.
    whole = sf.new_empty((*sf.shape[:-2], columns, align(sf.size(-2), SCALE_ALIGN)), dtype=dtype)
    return whole.transpose(-1, -2)[..., : sf.size(-2), :]


def require_float_scale(op: str, sf: torch.Tensor) -> None:
    require(
        sf.dtype == torch.float32 and sf.dim() in (2, 3),
        op,
        "sf",
        sf,
        "SCALE_DTYPE",
        "scales are float32 with 2 dimensions, or 3 with groups",
        "pass the float32 scale of a quantiser such as per_token_cast_to_fp8",
    )


def exponents_of(op: str, sf: torch.Tensor, live: torch.Tensor | None = None) -> torch.Tensor:
    """Biased exponents as int32; refuses values that are no power of two (`live` rows only)."""
    bits = sf.view(torch.int32)
    bad = (bits & ~0x7F800000) != 0
    if live is not None:
        bad = bad & live
    if not torch.compiler.is_compiling():
        capturing = sf.is_cuda and torch.cuda.is_current_stream_capturing()
        readable = sf.device.type == "cpu" or (sf.is_cuda and is_checking() and not capturing)
        if readable and type(sf) is torch.Tensor:
            if bool(bad.any()):
                index = tuple(bad.nonzero()[0].tolist())
                raise errors.InvalidArgument(
                    errors.describe(
                        op,
                        "sf",
                        f"{given_text(sf)}, value {sf[index].item()!r} at {index}",
                        "SCALE_POWER_OF_TWO",
                        "a packed UE8M0 scale holds an exponent only, so the value must be 2**e",
                        "quantise with use_ue8m0=True, or pass disable_ue8m0_cast=True",
                    )
                )
        elif sf.is_cuda:
            torch._assert_async(~bad.any())
    return bits >> 23


def words_of(exponents: torch.Tensor) -> torch.Tensor:
    """int32 exponents [..., 4 p] to little-endian int32 words [..., p]."""
    e = exponents.unflatten(-1, (-1, 4))
    return e[..., 0] | (e[..., 1] << 8) | (e[..., 2] << 16) | (e[..., 3] << 24)


def psum_rows(mn: int, ends: torch.Tensor, alignment: int) -> torch.Tensor:
    """bool [mn]: the rows that belong to a group of a psum layout."""
    aligned = (ends + (alignment - 1)) // alignment * alignment
    starts = torch.cat((torch.zeros_like(aligned[:1]), aligned[:-1]))
    rows = torch.arange(mn, device=ends.device, dtype=ends.dtype).unsqueeze(0)
    return ((rows >= starts.unsqueeze(1)) & (rows < ends.unsqueeze(1))).any(dim=0)


def k_group_rows(
    sf: torch.Tensor,
    grouped_layout: torch.Tensor,
    ks: Sequence[int] | None,
    gran_k: int,
    alignment: int,
    use_psum_layout: bool,
) -> torch.Tensor:
    """int64 [G]: how many scale rows each group has, computed on the device."""
    layout = grouped_layout.to(torch.int64)
    if not use_psum_layout:
        return (layout + (gran_k - 1)) // gran_k
    aligned_ends = (layout + (alignment - 1)) // alignment * alignment
    starts = torch.cat((torch.zeros_like(layout[:1]), aligned_ends[:-1]))
    real = (layout - starts + (gran_k - 1)) // gran_k
    aligned = (aligned_ends - starts + (gran_k - 1)) // gran_k
    # Why: one generation of callers quantises the real rows of a group, the next its aligned
    # rows. The total says which one this is.
    if ks is not None:
        return aligned if sum(ceil_div(k, gran_k) for k in ks) == sf.size(0) else real
    return torch.where(aligned.sum() == sf.size(0), aligned, real)
