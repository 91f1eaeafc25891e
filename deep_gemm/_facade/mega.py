"""The `_C` functions of the fused mixture-of-experts buffer: sizes, limits and views.

    num_bytes, slicer = _C.get_symm_buffer_size_for_mega_moe(1, 8, 100, 2, 1024, 512)
    x, x_sf, topk_idx, topk_weights, *_ = slicer(torch.zeros(num_bytes, dtype=torch.int8))

Both generations are served: the ninth argument is the ring's size in 2.6 and the number of shared
experts in 2.8, told apart by keyword, and by size where it is positional: no model has as many
shared experts as the smallest ring has tokens. With a ring size the slicer returns the eight views
of 2.6, otherwise the twelve of 2.8. Which region lies where is this package's own.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from .. import _ops, errors
from ..knobs import get_num_sms

__all__ = [
    "get_ring_limit_for_mega_moe",
    "get_symm_buffer_size_for_mega_moe",
    "get_symm_buffer_size_for_nvfp4_mega_moe",
    "get_token_alignment_for_mega_moe",
]

Slicer = Callable[[torch.Tensor], tuple[torch.Tensor, ...]]

_TOKEN_ALIGNMENT = 1920
_NUM_VIEWS_WITHOUT_SHARED = 8
_MAX_SHARED_EXPERTS = 64
_NUM_SMS_WITHOUT_DEVICE = 132

_size = _ops.op("get_symm_buffer_size_for_mega_moe")
_limit = _ops.op("get_ring_limit_for_mega_moe")
_slice = _ops.op("_slice_symm_buffer_for_mega_moe")


def _num_sms() -> int:
    return get_num_sms() if torch.cuda.is_available() else _NUM_SMS_WITHOUT_DEVICE


def get_token_alignment_for_mega_moe() -> int:
    """What the number of tokens a rank is rounded up to."""
    return _TOKEN_ALIGNMENT


def get_ring_limit_for_mega_moe(
    num_max_tokens_per_rank: int, num_experts_per_rank: int, num_topk: int, num_ranks: int
) -> tuple[int, int]:
    """(least, most) tokens of the ring, for the SMs of this device (132 where there is none)."""
    return tuple(
        _limit(num_max_tokens_per_rank, num_experts_per_rank, num_topk, num_ranks, _num_sms())
    )


def _size_and_slicer(
    num_ranks: int,
    num_experts: int,
    num_max_tokens_per_rank: int,
    num_topk: int,
    hidden: int,
    intermediate_hidden: int,
    mma_type: str,
    activation: str,
    num_ring_tokens: int,
    num_shared_experts: int,
    num_views: int | None,
) -> tuple[int, Slicer]:
    if activation not in ("swiglu", "swigluoai", "situ"):
        raise errors.InvalidArgument(
            errors.describe(
                "get_symm_buffer_size_for_mega_moe",
                "activation",
                repr(activation),
                "MEGA_ACTIVATION",
                "the activation is swiglu, swigluoai or situ",
                "pass one of these names",
            )
        )
    try:
        num_bytes, layout = _size(
            num_ranks,
            num_experts,
            num_max_tokens_per_rank,
            num_topk,
            hidden,
            intermediate_hidden,
            mma_type,
            num_ring_tokens,
            num_shared_experts,
            _num_sms(),
        )
    except RuntimeError as error:
        raise errors.retyped(error) from None

    def slicer(buffer: torch.Tensor) -> tuple[torch.Tensor, ...]:
        try:
            return tuple(_slice(buffer, layout)[:num_views])
        except RuntimeError as error:
            raise errors.retyped(error) from None

    return num_bytes, slicer


def get_symm_buffer_size_for_mega_moe(
    num_ranks: int,
    num_experts: int,
    num_max_tokens_per_rank: int,
    num_topk: int,
    hidden: int,
    intermediate_hidden: int,
    mma_type: str = "fp8xfp4",
    activation: str = "swiglu",
    ring_or_shared: int = 0,
    *,
    num_ring_tokens: int | None = None,
    num_shared_experts: int | None = None,
) -> tuple[int, Slicer]:
    """(bytes of the buffer, function that takes the buffer apart into views).

    Views in order: x, x_sf, topk_idx, topk_weights, then the ring's L1 and L2 activations, each
    with scales; in the 2.8 form also those of the shared experts. Raises InvalidArgument by rule.
    """
    if num_ring_tokens is None and num_shared_experts is None:
        is_ring = ring_or_shared > _MAX_SHARED_EXPERTS
        num_ring_tokens = ring_or_shared if is_ring else None
        num_shared_experts = None if is_ring else ring_or_shared
    is_first_generation = num_ring_tokens is not None
    return _size_and_slicer(
        num_ranks,
        num_experts,
        num_max_tokens_per_rank,
        num_topk,
        hidden,
        intermediate_hidden,
        mma_type,
        activation,
        num_ring_tokens or 0,
        num_shared_experts or 0,
        _NUM_VIEWS_WITHOUT_SHARED if is_first_generation else None,
    )


def get_symm_buffer_size_for_nvfp4_mega_moe(
    num_ranks: int,
    num_experts: int,
    num_max_tokens_per_rank: int,
    num_topk: int,
    hidden: int,
    intermediate_hidden: int,
    activation: str = "swiglu",
    num_shared_experts: int = 0,
) -> tuple[int, Slicer]:
    """The same for NVFP4 activations: two E2M1 values a byte, an E4M3 scale per 16 of them."""
    return _size_and_slicer(
        num_ranks,
        num_experts,
        num_max_tokens_per_rank,
        num_topk,
        hidden,
        intermediate_hidden,
        "fp4xfp4",
        activation,
        0,
        num_shared_experts,
        None,
    )
