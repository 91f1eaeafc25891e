"""Quantisers, dequantisers and scale packing: the published helpers of `deep_gemm.utils.math`.

    x8, scale = per_token_cast_to_fp8(x, use_ue8m0=False)      # activations: one scale per 128 of k
    w8, w_scale = per_block_cast_to_fp8(w, use_ue8m0=False)    # weights: one per 128x128 block
    x4, scale = per_token_cast_to_fp4(x, use_ue8m0=True, gran_k=32)

Every function is plain torch: it runs on any device, never reads a value back to the host (but for
the assertions of `pack_ue8m0_to_int`) and can be captured in a CUDA graph. The layouts that
kernels want (`get_mn_major_tma_aligned_tensor`, ...) live in `utils/layout.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ._fp4 import fp4_codes, fp4_values, pack_nibbles, unpack_nibbles

__all__ = [
    "align",
    "cast_back_from_fp4",
    "cast_back_from_fp8",
    "cast_to_ue4m3",
    "ceil_div",
    "ceil_to_ue8m0",
    "pack_ue4m3_to_int",
    "pack_ue8m0_to_int",
    "per_block_cast_to_fp8",
    "per_channel_cast_to_fp8",
    "per_custom_dims_cast_to_fp8",
    "per_token_cast_to_fp4",
    "per_token_cast_to_fp8",
    "per_token_cast_to_nvfp4",
    "transform_ue4m3_sf_into_required_layout",
    "transpose_packed_fp4",
    "unpack_ue4m3_from_int",
    "unpack_ue8m0_from_int",
]

# Maxima are multiplied by the float32 nearest to 1 / these: a GPU divides by a number in that way
# and a CPU does not, and both give the same bits so.
_FP8_MAX = 448.0  # largest finite E4M3
_FP4_MAX = 6.0  # largest E2M1
_AMAX_FLOOR = 1e-4  # a group of zeros still gets a normal scale
_UE4M3_MIN = 2.0**-9  # smallest positive E4M3, so that a scale is never zero


def ceil_div(x: int, y: int) -> int:
    """Smallest integer >= x / y."""
    return (x + y - 1) // y


def align(x: int, y: int) -> int:
    """Smallest multiple of y that is >= x."""
    return ceil_div(x, y) * y


def ceil_to_ue8m0(x: torch.Tensor) -> torch.Tensor:
    """|x| rounded up to a power of two (powers of two unchanged), as float32.

    The biased exponent is kept within 1..254, so the result is always normal and finite.
    """
    bits = x.abs().float().view(torch.int32)
    exponent = ((bits >> 23) & 0xFF) + ((bits & 0x7FFFFF) != 0).to(torch.int32)
    return (exponent.clamp(1, 254) << 23).view(torch.float32)


def pack_ue8m0_to_int(x: torch.Tensor) -> torch.Tensor:
    """Four power-of-two float32 scales per int32, little-endian; the last dimension shrinks by 4.

    Raises AssertionError unless x is float32, its last size is a multiple of 4, and every sign and
    mantissa bit is zero. Values are looked at on the device while a graph is captured, and not at
    all where x has none or a compiler traces the call.
    """
    assert x.dtype == torch.float32, f"pack_ue8m0_to_int: given {x.dtype}, needs float32"
    assert x.size(-1) % 4 == 0, f"pack_ue8m0_to_int: last size {x.size(-1)} is not a multiple of 4"
    bits = x.contiguous().view(torch.int32)
    if not torch.compiler.is_compiling() and type(x) in (torch.Tensor, torch.nn.Parameter):
        fits = ((bits & ~0x7F800000) == 0).all()
        if x.is_cuda and torch.cuda.is_current_stream_capturing():
            torch._assert_async(fits)
        elif x.device.type != "meta":
            assert bool(fits), "pack_ue8m0_to_int: a value is no power of two"
    return (bits >> 23).to(torch.uint8).view(torch.int32)


def unpack_ue8m0_from_int(packed_sf: torch.Tensor) -> torch.Tensor:
    """Inverse of `pack_ue8m0_to_int`: int32 [..., n] to float32 [..., 4 n]."""
    return (packed_sf.contiguous().view(torch.uint8).to(torch.int32) << 23).view(torch.float32)


def _pack_scales(sf: torch.Tensor, use_ue8m0: bool) -> torch.Tensor:
    """K-major packed scales; missing positions of the last word hold 1.0 (0x7F)."""
    assert use_ue8m0, "use_packed_ue8m0=True needs use_ue8m0=True: only powers of two can be packed"
    padding = -sf.size(-1) % 4
    padded = torch.nn.functional.pad(sf, (0, padding), value=1.0)
    return (padded.view(torch.int32) >> 23).to(torch.uint8).view(torch.int32)


def _scale_from_amax(amax: torch.Tensor, largest: float, use_ue8m0: bool) -> torch.Tensor:
    sf = amax.float().clamp(_AMAX_FLOOR) * (1.0 / largest)
    return ceil_to_ue8m0(sf) if use_ue8m0 else sf


def _grouped_rows(x: torch.Tensor, gran_k: int) -> torch.Tensor:
    """[m, n] zero-padded along n and viewed as [m, cdiv(n, gran_k), gran_k]."""
    assert x.dim() == 2, f"given {x.dim()} dimensions, needs 2"
    m, n = x.shape
    padded = torch.nn.functional.pad(x, (0, align(n, gran_k) - n))
    return padded.view(m, ceil_div(n, gran_k), gran_k)


def per_token_cast_to_fp8(
    x: torch.Tensor, use_ue8m0: bool, gran_k: int = 128, use_packed_ue8m0: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """One scale per row and per `gran_k` columns.

    Returns (float8_e4m3fn [m, n] contiguous, float32 [m, cdiv(n, gran_k)]). With
    `use_packed_ue8m0` the scale is int32 [m, cdiv(cdiv(n, gran_k), 4)], K-major, its last word
    filled up with 1.0.
    """
    m, n = x.shape
    groups = _grouped_rows(x, gran_k)
    sf = _scale_from_amax(groups.abs().float().amax(dim=2), _FP8_MAX, use_ue8m0)
    data = (groups * (1.0 / sf.unsqueeze(2))).to(torch.float8_e4m3fn)
    data = data.view(m, groups.size(1) * gran_k)[:, :n].contiguous()
    return data, _pack_scales(sf, use_ue8m0) if use_packed_ue8m0 else sf


def per_channel_cast_to_fp8(
    x: torch.Tensor, use_ue8m0: bool, gran_k: int = 128
) -> tuple[torch.Tensor, torch.Tensor]:
    """One scale per column and per `gran_k` rows; m must be a multiple of `gran_k`.

    Returns (float8_e4m3fn [m, n], float32 [m / gran_k, n]).
    """
    m, n = x.shape
    assert m % gran_k == 0, f"per_channel_cast_to_fp8: m={m} is not a multiple of gran_k={gran_k}"
    groups = x.reshape(m // gran_k, gran_k, n)
    sf = _scale_from_amax(groups.abs().float().amax(dim=1), _FP8_MAX, use_ue8m0)
    data = (groups * (1.0 / sf.unsqueeze(1))).to(torch.float8_e4m3fn)
    return data.view(m, n), sf


def per_block_cast_to_fp8(
    x: torch.Tensor, use_ue8m0: bool, gran_k: int = 128
) -> tuple[torch.Tensor, torch.Tensor]:
    """One scale per `gran_k` x `gran_k` block, edges padded with zeros.

    Returns (float8_e4m3fn [m, n] contiguous, float32 [cdiv(m, gran_k), cdiv(n, gran_k)]).
    """
    m, n = x.shape
    rows, cols = ceil_div(m, gran_k), ceil_div(n, gran_k)
    padded = torch.nn.functional.pad(x, (0, cols * gran_k - n, 0, rows * gran_k - m))
    blocks = padded.view(rows, gran_k, cols, gran_k)
    sf = _scale_from_amax(blocks.abs().float().amax(dim=(1, 3)), _FP8_MAX, use_ue8m0)
    data = (blocks * (1.0 / sf.view(rows, 1, cols, 1))).to(torch.float8_e4m3fn)
    return data.view(rows * gran_k, cols * gran_k)[:m, :n].contiguous(), sf


def per_custom_dims_cast_to_fp8(
    x: torch.Tensor, dims: Sequence[int], use_ue8m0: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """One scale per index of `dims`: the maximum is taken over all other dimensions.

    Returns (float8_e4m3fn of x's shape, float32 scale with its size-1 dimensions squeezed).
    """
    kept = {dim % x.dim() for dim in dims}
    reduced = tuple(dim for dim in range(x.dim()) if dim not in kept)
    amax = x.abs().float()
    if reduced:
        amax = amax.amax(dim=reduced, keepdim=True)
    sf = _scale_from_amax(amax, _FP8_MAX, use_ue8m0)
    return (x * (1.0 / sf)).to(torch.float8_e4m3fn), sf.squeeze()


def _expand_scale(sf: torch.Tensor, n: int, gran_k: int, packed: bool) -> torch.Tensor:
    """[m, groups] (or packed words) to one float32 per column, [m, n]."""
    scale = unpack_ue8m0_from_int(sf) if packed else sf.float()
    return scale[:, : ceil_div(n, gran_k)].repeat_interleave(gran_k, dim=1)[:, :n]


def cast_back_from_fp8(
    x_fp8: torch.Tensor, sf: torch.Tensor, gran_k: int = 128, use_packed_ue8m0: bool = False
) -> torch.Tensor:
    """Inverse of `per_token_cast_to_fp8`: float32 [m, n]."""
    return x_fp8.float() * _expand_scale(sf, x_fp8.size(1), gran_k, use_packed_ue8m0)


def per_token_cast_to_fp4(
    x: torch.Tensor,
    use_ue8m0: bool,
    gran_k: int = 128,
    use_packed_ue8m0: bool = False,
    *,
    ties: str = "even",
) -> tuple[torch.Tensor, torch.Tensor]:
    """E2M1 with one scale per row and per `gran_k` columns; n must be even.

    Returns (int8 [m, n / 2], float32 [m, cdiv(n, gran_k)] or packed int32 as in
    `per_token_cast_to_fp8`). `ties` chooses between the two published generations of rounding:
    "even" (2.8, and the hardware's conversion) is the default, "smaller" is 2.6.
    """
    m, n = x.shape
    assert n % 2 == 0, f"per_token_cast_to_fp4: n={n} is odd, two values share a byte"
    groups = _grouped_rows(x, gran_k)
    sf = _scale_from_amax(groups.abs().float().amax(dim=2), _FP4_MAX, use_ue8m0)
    scaled = (groups * (1.0 / sf.unsqueeze(2))).view(m, groups.size(1) * gran_k)[:, :n]
    packed = pack_nibbles(fp4_codes(scaled, ties))
    return packed, _pack_scales(sf, use_ue8m0) if use_packed_ue8m0 else sf


def transpose_packed_fp4(a: torch.Tensor) -> torch.Tensor:
    """int8 [m, n / 2] to int8 [n, m / 2], transposing the logical values; m must be even."""
    assert a.dtype == torch.int8, f"transpose_packed_fp4: given {a.dtype}, needs int8"
    assert a.dim() == 2 and a.size(0) % 2 == 0, "transpose_packed_fp4: needs 2-D with an even m"
    return pack_nibbles(unpack_nibbles(a).t().contiguous())


def cast_back_from_fp4(
    packed: torch.Tensor, sf: torch.Tensor, gran_k: int = 128, use_packed_ue8m0: bool = False
) -> torch.Tensor:
    """Inverse of `per_token_cast_to_fp4`: float32 [m, n]; the code of negative zero reads as +0."""
    values = fp4_values(packed)
    return values * _expand_scale(sf, values.size(1), gran_k, use_packed_ue8m0)


def cast_to_ue4m3(x: torch.Tensor) -> torch.Tensor:
    """|x| rounded to the nearest positive E4M3 value (2^-9 .. 448), as float32."""
    rounded = x.abs().float().clamp(_UE4M3_MIN, _FP8_MAX).to(torch.float8_e4m3fn)
    return rounded.float()


def pack_ue4m3_to_int(x: torch.Tensor) -> torch.Tensor:
    """Four E4M3 scales per int32, little-endian; the last size must be a multiple of 4."""
    assert x.size(-1) % 4 == 0, f"pack_ue4m3_to_int: last size {x.size(-1)} is not a multiple of 4"
    return x.contiguous().to(torch.float8_e4m3fn).view(torch.uint8).view(torch.int32)


def unpack_ue4m3_from_int(packed_sf: torch.Tensor) -> torch.Tensor:
    """Inverse of `pack_ue4m3_to_int`: int32 [..., n] to float32 [..., 4 n]."""
    return packed_sf.contiguous().view(torch.uint8).view(torch.float8_e4m3fn).float()


def per_token_cast_to_nvfp4(
    x: torch.Tensor, gran_k: int = 16, use_packed_ue4m3: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """E2M1 data with one E4M3 scale per row and per `gran_k` columns.

    Returns (int8 [m, n / 2], float32 [m, cdiv(n, gran_k)] on the E4M3 grid, or int32 of four).
    There is no second, per-tensor scale: groups whose maximum exceeds 6 * 448 saturate.
    """
    m, n = x.shape
    assert n % 2 == 0, f"per_token_cast_to_nvfp4: n={n} is odd, two values share a byte"
    groups = _grouped_rows(x, gran_k)
    sf = cast_to_ue4m3(groups.abs().float().amax(dim=2) * (1.0 / _FP4_MAX))
    scaled = (groups * (1.0 / sf.unsqueeze(2))).view(m, groups.size(1) * gran_k)[:, :n]
    packed = pack_nibbles(fp4_codes(scaled, "even"))
    if not use_packed_ue4m3:
        return packed, sf
    padded = torch.nn.functional.pad(sf, (0, -sf.size(1) % 4), value=1.0)
    return packed, pack_ue4m3_to_int(padded)


def transform_ue4m3_sf_into_required_layout(sf: torch.Tensor, mn: int) -> torch.Tensor:
    """Four E4M3 scales per int32, the rows dimension contiguous and padded to 16 bytes.

    `sf` is float32 [..., mn, n] or already packed int32 [..., mn, n / 4]; the result has the
    strides of the packed UE8M0 layout (1 along rows, align(mn, 4) along words).
    """
    assert sf.size(-2) == mn, f"sf has {sf.size(-2)} rows, needs mn={mn}"
    if sf.dtype != torch.int32:
        sf = pack_ue4m3_to_int(torch.nn.functional.pad(sf, (0, -sf.size(-1) % 4)))
    aligned = align(mn, 4)
    out = sf.new_empty((*sf.shape[:-2], sf.size(-1), aligned)).transpose(-1, -2)[..., :mn, :]
    return out.copy_(sf)
