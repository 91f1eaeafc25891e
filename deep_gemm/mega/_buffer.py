"""`SymmBuffer`: the memory that ranks of a fused mixture-of-experts call share."""

from __future__ import annotations

from typing import Any

import torch

from .. import errors
from .._facade import mega as _sizes
from ..utils.math import align

__all__ = ["SymmBuffer", "get_symm_buffer_for_mega_moe"]

_VIEWS = (
    "x",
    "x_sf",
    "topk_idx",
    "topk_weights",
    "l1_acts",
    "l1_acts_sf",
    "l2_acts",
    "l2_acts_sf",
    "shared_l1_acts",
    "shared_l1_acts_sf",
    "shared_l2_acts",
    "shared_l2_acts_sf",
)


def _num_ranks(group: Any) -> int:
    return 1 if group is None else group.size()


def _allocate(num_bytes: int, group: Any) -> tuple[torch.Tensor, Any]:
    """(zeroed bytes, handle of the rendezvous; None for one rank)."""
    device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
    if _num_ranks(group) == 1:
        return torch.zeros(num_bytes, dtype=torch.int8, device=device), None
    if device.type == "cpu":
        raise errors.Unsupported(
            errors.describe(
                "SymmBuffer",
                "group",
                f"{_num_ranks(group)} ranks on a machine without GPU",
                "SYMM_DEVICE",
                "several ranks share memory of GPUs",
                "use a group of one rank, or run on GPUs",
            )
        )
    import torch.distributed._symmetric_memory as symmetric_memory

    buffer = symmetric_memory.empty(num_bytes, dtype=torch.int8, device=device)
    handle = symmetric_memory.rendezvous(buffer, group=group)
    buffer.zero_()
    torch.distributed.barrier(group)
    torch.cuda.synchronize()
    return buffer, handle


class SymmBuffer:
    """The buffer of one layer shape, zeroed, with its views as attributes.

    `x` [t, hidden], `x_sf` int32 [t, hidden / 128], `topk_idx` int64 and `topk_weights` float32
    [t, topk], where t is `num_max_tokens_per_rank` rounded up to the token alignment; the other
    views are the kernels' own. Takes the positional order of both generations: the seventh argument
    is the ring's size in 2.6, the number of shared experts in 2.8 (at most 64).
    """

    def __init__(
        self,
        group: Any,
        num_experts: int,
        num_max_tokens_per_rank: int,
        num_topk: int,
        hidden: int,
        intermediate_hidden: int,
        ring_or_shared: int = 0,
        mma_type: str = "fp8xfp4",
        activation: str = "swiglu",
        base: torch.Tensor | None = None,
        *,
        num_ring_tokens: int | None = None,
        num_shared_experts: int | None = None,
    ) -> None:
        self.group = group
        self.num_experts = num_experts
        self.num_topk = num_topk
        self.hidden = hidden
        self.intermediate_hidden = intermediate_hidden
        self.mma_type = mma_type
        self.activation = activation
        self.num_max_tokens_per_rank = align(
            num_max_tokens_per_rank, _sizes.get_token_alignment_for_mega_moe()
        )
        num_bytes, slicer = _sizes.get_symm_buffer_size_for_mega_moe(
            _num_ranks(group),
            num_experts,
            self.num_max_tokens_per_rank,
            num_topk,
            hidden,
            intermediate_hidden,
            mma_type,
            activation,
            ring_or_shared,
            num_ring_tokens=num_ring_tokens,
            num_shared_experts=num_shared_experts,
        )
        self.buffer: torch.Tensor | None
        self.buffer, self.handle = (base, None) if base is not None else _allocate(num_bytes, group)
        for name, view in zip(_VIEWS, slicer(self.buffer), strict=False):
            setattr(self, name, view)

    def destroy(self) -> None:
        """Drop the memory and everything that points into it."""
        self.handle = self.buffer = self.group = None
        for name in _VIEWS:
            if hasattr(self, name):
                setattr(self, name, None)


def get_symm_buffer_for_mega_moe(
    group: Any,
    num_experts: int,
    num_max_tokens_per_rank: int,
    num_topk: int,
    hidden: int,
    intermediate_hidden: int,
    num_shared_experts: int | bool | None = 0,
    use_fp8_dispatch: bool | None = None,
    mma_type: str = "fp8xfp4",
    activation: str = "swiglu",
) -> SymmBuffer:
    """A `SymmBuffer` for these sizes.

    The seventh argument is `use_fp8_dispatch` in 2.6 and the number of shared experts in 2.8: a
    bool or None there is the former. `use_fp8_dispatch` says what `mma_type` says already, and
    raises InvalidArgument where the two differ.
    """
    if num_shared_experts is None or isinstance(num_shared_experts, bool):
        # The order of 2.6: what follows is one place further left.
        if isinstance(use_fp8_dispatch, str):
            mma_type, activation = (
                use_fp8_dispatch,
                mma_type if mma_type != "fp8xfp4" else activation,
            )
        use_fp8_dispatch, num_shared_experts = num_shared_experts, 0
    if use_fp8_dispatch is not None and use_fp8_dispatch != mma_type.startswith("fp8"):
        raise errors.InvalidArgument(
            errors.describe(
                "get_symm_buffer_for_mega_moe",
                "use_fp8_dispatch",
                f"{use_fp8_dispatch} with mma_type={mma_type!r}",
                "MEGA_DISPATCH",
                "tokens travel in the type that mma_type multiplies",
                "leave use_fp8_dispatch out",
            )
        )
    return SymmBuffer(
        group,
        num_experts,
        num_max_tokens_per_rank,
        num_topk,
        hidden,
        intermediate_hidden,
        mma_type=mma_type,
        activation=activation,
        num_shared_experts=num_shared_experts,
    )
