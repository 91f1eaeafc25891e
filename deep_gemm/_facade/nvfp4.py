"""Products of NVFP4 operands: `cublaslt_nvfp4_gemm_nt`, widened exactly and multiplied by torch.

cublaslt_nvfp4_gemm_nt((a, a_scale), (b, b_scale), d)      # E2M1 data, E4M3 scales in 128x4 tiles
"""

from __future__ import annotations

import torch

from ..utils._fp4 import fp4_values
from ..utils.math import ceil_div
from ._args import Pair, pair
from .plain import _multiply, _require

__all__ = ["cublaslt_nvfp4_gemm_nt"]

_NAME = "cublaslt_nvfp4_gemm_nt"
_GRAN_K = 16


def _untiled(scale: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    """Bytes in tiles of 128 rows by 4 columns as float32 [rows, columns]."""
    tiles = (
        scale.contiguous()
        .view(torch.float8_e4m3fn)
        .view(ceil_div(rows, 128), ceil_div(columns, 4), 32, 4, 4)
    )
    return tiles.float().permute(0, 3, 2, 1, 4).reshape(-1, 4 * tiles.size(1))[:rows, :columns]


def _widened(name: str, data: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """bfloat16 [rows, k], exactly: six significant bits."""
    _require(
        data.dtype == torch.int8 and data.dim() == 2 and data.is_contiguous()
        and data.size(1) % 16 == 0,
        _NAME,
        name,
        data,
        ("NVFP4_DATA", "data are contiguous int8 [rows, k / 2], with k a multiple of 32",
         "pad k with zeros"),
    )  # fmt: skip
    rows, k = data.size(0), 2 * data.size(1)
    wanted = ceil_div(rows, 128) * ceil_div(k, 64) * 512
    _require(
        scale.dtype in (torch.uint8, torch.int8, torch.float8_e4m3fn)
        and scale.is_contiguous()
        and scale.numel() == wanted,
        _NAME,
        f"{name}_scale",
        scale,
        ("NVFP4_SCALE", f"scales are {wanted} contiguous E4M3 bytes in tiles of 128 rows by 4",
         "pad the rows to 128 and the columns to 4, and permute them into tiles"),
    )  # fmt: skip
    factors = _untiled(scale, rows, k // _GRAN_K).repeat_interleave(_GRAN_K, dim=1)
    return (fp4_values(data) * factors).bfloat16()


def cublaslt_nvfp4_gemm_nt(
    a: Pair, b: Pair, d: torch.Tensor, c: torch.Tensor | None = None
) -> None:
    """d = a @ b^T (+ c) of (data int8 [rows, k / 2], scales), two E2M1 values a byte.

    A positive E4M3 scale covers 16 of k; scales are bytes in tiles of 128 rows by 4 columns: byte
    (r % 32) * 16 + (r % 128) // 32 * 4 + j % 4 of a tile, tiles ordered by rows first. Sums are
    float32; any dtype of d that torch multiplies into.
    """
    a_data, a_scale = pair(_NAME, "a", a)
    b_data, b_scale = pair(_NAME, "b", b)
    rhs = _widened("b", b_data, b_scale)
    _multiply(_NAME, _widened("a", a_data, a_scale), rhs.t(), d, c)
