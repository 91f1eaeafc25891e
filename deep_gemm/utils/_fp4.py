"""E2M1 codes: encoding, decoding and two of them in a byte.

    packed = pack_nibbles(fp4_codes(x, "even"))
    x = fp4_values(packed)                      # float32

Scales are the business of `utils/math.py`.
"""

from __future__ import annotations

import torch

__all__ = ["fp4_codes", "fp4_values", "pack_nibbles", "unpack_nibbles"]

# Midpoints between neighbouring magnitudes. Under ties="even" the second list moves a tie up: the
# code above it is the even one.
_FP4_MIDPOINTS = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)
_FP4_TIES_UP = (False, True, False, True, False, True, False)


def fp4_codes(x: torch.Tensor, ties: str) -> torch.Tensor:
    """E2M1 codes (uint8 0..15) of x: sign in bit 3, never negative zero; above 6 saturates.

    ties="even": a value half-way between two neighbours takes the even code, as the hardware
    conversion does. ties="smaller": it takes the smaller magnitude.
    """
    assert ties in ("even", "smaller"), f"ties: given {ties!r}, needs 'even' or 'smaller'"
    magnitude = x.abs()
    code = torch.zeros_like(magnitude, dtype=torch.uint8)
    for midpoint, tie_up in zip(_FP4_MIDPOINTS, _FP4_TIES_UP, strict=True):
        above = magnitude >= midpoint if tie_up and ties == "even" else magnitude > midpoint
        code += above.to(torch.uint8)
    negative = (x < 0) & (code != 0)
    return code | (negative.to(torch.uint8) << 3)


def pack_nibbles(codes: torch.Tensor) -> torch.Tensor:
    """uint8 codes [m, n] to int8 [m, n / 2]: even index in the low nibble."""
    return (codes[:, 0::2] | (codes[:, 1::2] << 4)).view(torch.int8)


def unpack_nibbles(packed: torch.Tensor) -> torch.Tensor:
    """int8 [m, n / 2] to uint8 codes [m, n]."""
    raw = packed.contiguous().view(torch.uint8)
    return torch.stack((raw & 0xF, raw >> 4), dim=-1).view(raw.size(0), raw.size(1) * 2)


def fp4_values(packed: torch.Tensor) -> torch.Tensor:
    """Packed FP4 to float32 values, the code of negative zero read as +0."""
    codes = unpack_nibbles(packed).to(torch.int32)
    exponent, mantissa = (codes >> 1) & 3, (codes & 1).float()
    # Why: arithmetic instead of a table, which would be a host-to-device copy and break capture.
    scale = ((exponent - 1 + 127) << 23).view(torch.float32)
    magnitude = torch.where(exponent == 0, 0.5 * mantissa, (1.0 + 0.5 * mantissa) * scale)
    return torch.where((codes >= 8) & (magnitude != 0), -magnitude, magnitude)
