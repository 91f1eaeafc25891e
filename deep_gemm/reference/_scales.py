"""From stored operands to plain numbers: the one dequantiser of all references.

    x = dequantise(data, scale, gran_mn=1, gran_k=128)       # float64 [..., mn, k]

`data` is float8_e4m3fn, or int8 with two E2M1 values per byte along its contiguous dimension;
`scale` is float32, or int32 with four UE8M0 exponents per word (contract sections 5.1-5.5).
"""

from __future__ import annotations

import torch

from ..utils._fp4 import fp4_values
from ..utils.math import ceil_div

__all__ = ["dequantise", "expand_scale", "unpack_data"]


def unpack_data(data: torch.Tensor, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Stored values as `dtype`, FP4 unpacked along the contiguous dimension."""
    if data.dtype != torch.int8:
        return data.to(dtype)
    if data.stride(-1) == 1 or data.size(-1) == 1:
        flat = data.reshape(data.shape[:-1].numel(), data.size(-1))
        return fp4_values(flat).view(*data.shape[:-1], data.size(-1) * 2).to(dtype)
    return unpack_data(data.transpose(-1, -2), dtype).transpose(-1, -2)


def expand_scale(
    scale: torch.Tensor,
    mn: int,
    k: int,
    gran_mn: int,
    gran_k: int,
    dtype: torch.dtype = torch.float64,
) -> torch.Tensor:
    """One scale per element, [..., mn, k], from float32 or packed int32 scales."""
    if scale.dtype == torch.int32:
        shifts = torch.tensor([0, 8, 16, 24], device=scale.device)
        exponents = (scale.to(torch.int64).unsqueeze(-1) >> shifts) & 0xFF
        values = torch.exp2(exponents.double() - 127)
        values = torch.where(exponents == 0xFF, torch.nan, values).flatten(-2)
    else:
        values = scale.double()
    row = torch.arange(mn, device=scale.device) // gran_mn
    column = torch.arange(k, device=scale.device) // gran_k
    if values.size(-2) < ceil_div(mn, gran_mn) or values.size(-1) < ceil_div(k, gran_k):
        raise ValueError(
            f"scale {tuple(scale.shape)} is too small for mn={mn}, k={k} at {gran_mn}x{gran_k}"
        )
    return values.index_select(-2, row).index_select(-1, column).to(dtype)


def dequantise(
    data: torch.Tensor,
    scale: torch.Tensor,
    gran_mn: int,
    gran_k: int,
    dtype: torch.dtype = torch.float64,
) -> torch.Tensor:
    """data * scale, [..., mn, k]; raises ValueError when the scale has too few entries."""
    values = unpack_data(data, dtype)
    return values * expand_scale(scale, values.size(-2), values.size(-1), gran_mn, gran_k, dtype)
