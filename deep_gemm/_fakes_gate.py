"""What bf16_mega_gate calls on machines without a C++ compiler; `_fake.py` registers it.

REFERENCES["_reference_bf16_mega_gate"](logits, 2.5, topk_idx, topk_weights, ...)
"""

from __future__ import annotations

import torch

from . import reference

__all__ = ["REFERENCES", "REFERENCE_SCHEMAS"]

REFERENCE_SCHEMAS = {
    "_reference_bf16_mega_gate": (
        "(Tensor logits, float routed_scaling_factor, Tensor(d!) topk_idx,"
        " Tensor(e!) topk_weights, Tensor? mask, Tensor? bias, Tensor? image_bias,"
        " Tensor? image_token_mask, Tensor? fix_routing_mask, Tensor? to_physical_map,"
        " Tensor? logical_count, Tensor? unmapped_topk_idx) -> ()"
    ),
}


def _reference_bf16_mega_gate(
    logits: torch.Tensor,
    routed_scaling_factor: float,
    topk_idx: torch.Tensor,
    topk_weights: torch.Tensor,
    mask: torch.Tensor | None,
    bias: torch.Tensor | None,
    image_bias: torch.Tensor | None,
    image_token_mask: torch.Tensor | None,
    fix_routing_mask: torch.Tensor | None,
    to_physical_map: torch.Tensor | None,
    logical_count: torch.Tensor | None,
    unmapped_topk_idx: torch.Tensor | None,
) -> None:
    idx, weights = reference.gate_choice(
        logits,
        topk_idx.size(1),
        routed_scaling_factor,
        mask=mask,
        bias=bias,
        image_bias=image_bias,
        image_token_mask=image_token_mask,
        fix_routing_mask=fix_routing_mask,
        to_physical_map=to_physical_map,
        logical_count=logical_count,
        unmapped_topk_idx=unmapped_topk_idx,
    )
    topk_idx.copy_(idx)
    topk_weights.copy_(weights)


REFERENCES = {"_reference_bf16_mega_gate": _reference_bf16_mega_gate}
