"""The host side of the fused mixture-of-experts operators: their buffer and their weights' layout.

    buffer = get_symm_buffer_for_mega_moe(group, num_experts, 4096, 8, 7168, 2048)
    buffer.x[:t].copy_(x); buffer.topk_idx[:t].copy_(idx)
    l1, l2 = transform_weights_for_mega_moe((w1, w1_sf), (w2, w2_sf))

The fused kernels themselves are not in this version: their names are absent, which is how callers
ask. Buffers of one rank are plain memory of the current device; those of several ranks come from
torch's symmetric memory and were never run on hardware. Contract: deep_gemm_api 1.7 and 2.19.
"""

from __future__ import annotations

from ._buffer import SymmBuffer, get_symm_buffer_for_mega_moe
from ._weights import (
    transform_scales_for_mega_moe,
    transform_weights_for_mega_moe,
    transform_weights_for_mega_moe_sm90,
)

__all__ = [
    "SymmBuffer",
    "get_symm_buffer_for_mega_moe",
    "transform_scales_for_mega_moe",
    "transform_weights_for_mega_moe",
    "transform_weights_for_mega_moe_sm90",
]
