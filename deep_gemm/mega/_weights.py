"""Expert weights as the fused kernels read them: gate and up rows interleaved, scales permuted."""

from __future__ import annotations

import torch

from .. import errors

__all__ = [
    "transform_scales_for_mega_moe",
    "transform_weights_for_mega_moe",
    "transform_weights_for_mega_moe_sm90",
]

Weights = torch.Tensor | tuple[torch.Tensor, torch.Tensor]

_CHUNK = 8  # rows of gate, then as many of up
_BLOCK = 128  # rows inside which scales are permuted


def _refuse(argument: str, given: torch.Tensor, rule: str, sentence: str, fix: str) -> None:
    what = f"{str(given.dtype)[6:]} {tuple(given.shape)}"
    raise errors.InvalidArgument(
        errors.describe("transform_weights_for_mega_moe", argument, what, rule, sentence, fix)
    )


def _interleave(rows: torch.Tensor, argument: str) -> torch.Tensor:
    """[e, 2 * i, ...]: rows 8j.. of the first half, then rows 8j.. of the second; same strides."""
    if rows.dim() != 3 or rows.shape[1] % (2 * _CHUNK) != 0:
        _refuse(
            argument,
            rows,
            "MEGA_ROWS",
            "L1 has (experts, 2 * intermediate, k) with a multiple of 16 rows",
            "stack gate over up along dim 1",
        )
    experts, height, width = rows.shape
    parts = rows.reshape(experts, 2, height // (2 * _CHUNK), _CHUNK, width)
    return torch.empty_like(rows).copy_(parts.transpose(1, 2).reshape(experts, height, width))


def _permute_scales(scales: torch.Tensor, argument: str) -> torch.Tensor:
    """Old row r of each 128 goes to (r % 32) * 4 + r // 32; strides are kept."""
    if scales.dim() != 3 or scales.shape[1] % _BLOCK != 0:
        _refuse(
            argument,
            scales,
            "MEGA_SCALE_ROWS",
            "scales have (experts, rows, words) with a multiple of 128 rows",
            "pad the weights",
        )
    experts, height, width = scales.shape
    parts = scales.reshape(experts, height // _BLOCK, 4, 32, width)
    return torch.empty_like(scales).copy_(parts.transpose(2, 3).reshape(experts, height, width))


def transform_scales_for_mega_moe(
    l1_scales: torch.Tensor, l2_scales: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Scales alone: L1's rows interleaved, then both permuted inside every 128 rows."""
    first = _permute_scales(_interleave(l1_scales, "l1_scales"), "l1_scales")
    return first, _permute_scales(l2_scales, "l2_scales")


def transform_weights_for_mega_moe(
    l1_weights: Weights,
    l2_weights: Weights,
    activation: str = "swiglu",
    mma_type: str = "fp8xfp4",
) -> tuple[Weights, Weights]:
    """L1 [e, 2 * i, hidden] and L2 [e, hidden, i] in the fused kernels' layout.

    Scaled weights are `(data, scales)` with int32 packed UE8M0 scales, MN-major; bfloat16 weights
    are plain tensors and only interleaved. The order of L1's rows does not depend on `activation`.
    """
    if isinstance(l1_weights, torch.Tensor) and isinstance(l2_weights, torch.Tensor):
        return _interleave(l1_weights, "l1_weights"), l2_weights
    (l1, l1_scales), (l2, l2_scales) = l1_weights, l2_weights
    first, second = transform_scales_for_mega_moe(l1_scales, l2_scales)
    return (_interleave(l1, "l1_weights"), first), (l2, second)


def transform_weights_for_mega_moe_sm90(l1_weights: Weights, l2_weights: Weights) -> tuple:
    """The Hopper form: L1's data interleaved, its float32 block scales and L2 as they are."""
    l1, l1_scales = l1_weights
    return (_interleave(l1, "l1_weights"), l1_scales), l2_weights
