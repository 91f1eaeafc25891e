"""Expert choice of a mixture-of-experts router, float64 unless asked otherwise.

    idx, weights = bf16_mega_gate(x, weight, 8, 2.5, bias=bias)      # [tokens, 8] each
    idx, weights = gate_choice(logits, 8, 2.5)

score = sqrt(softplus(x @ weight^T)). A token's experts are those of the largest score + bias, lower
ids first where equal; their weights are the scores without bias, over their sum, times the factor.
"""

from __future__ import annotations

import torch

__all__ = ["bf16_mega_gate", "gate_choice"]


def gate_choice(
    logits: torch.Tensor,
    num_topk: int,
    routed_scaling_factor: float,
    *,
    mask: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    image_bias: torch.Tensor | None = None,
    image_token_mask: torch.Tensor | None = None,
    fix_routing_mask: torch.Tensor | None = None,
    to_physical_map: torch.Tensor | None = None,
    logical_count: torch.Tensor | None = None,
    unmapped_topk_idx: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(int64 ids, weights of the logits' dtype), [tokens, num_topk], of logits [tokens, experts].

    Tokens whose `mask` is False have -1 and 0. Where `image_token_mask` says so `image_bias` ranks
    in place of `bias`. Where `fix_routing_mask` says so the experts are those of
    `unmapped_topk_idx`, of which -1 means none. Token t has copy t % logical_count[e] of expert e:
    column of to_physical_map[e]. Weights are 0 where all scores are.
    """
    experts = logits.size(1)
    scores = torch.nn.functional.softplus(logits, threshold=1e9).sqrt()
    shift = torch.zeros_like(scores) if bias is None else bias.to(logits.dtype).expand_as(scores)
    if image_bias is not None:
        image = image_token_mask.bool().unsqueeze(1)
        shift = torch.where(image, image_bias.to(logits.dtype).expand_as(scores), shift)
    idx = (scores + shift).sort(dim=1, descending=True, stable=True).indices[:, :num_topk]
    if fix_routing_mask is not None:
        idx = torch.where(fix_routing_mask.bool().unsqueeze(1), unmapped_topk_idx.long(), idx)
    is_expert = (idx >= 0) & (idx < experts)
    if mask is not None:
        is_expert &= mask.bool().unsqueeze(1)
    idx = torch.where(is_expert, idx, 0)
    chosen = torch.where(is_expert, scores.gather(1, idx), 0)
    total = chosen.sum(1, keepdim=True)
    weights = torch.where(total == 0, 0, chosen / total * routed_scaling_factor)
    if to_physical_map is not None:
        token = torch.arange(idx.size(0), device=idx.device).unsqueeze(1)
        copies = logical_count.long()[idx].clamp(min=1)
        idx = to_physical_map.long()[idx, token % copies]
    return torch.where(is_expert, idx, -1), weights


def bf16_mega_gate(
    x: torch.Tensor,
    weight: torch.Tensor,
    num_topk: int,
    routed_scaling_factor: float,
    *,
    dtype: torch.dtype = torch.float64,
    **more: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """`gate_choice` of x [tokens, hidden] @ weight [experts, hidden]^T."""
    return gate_choice(x.to(dtype) @ weight.to(dtype).t(), num_topk, routed_scaling_factor, **more)
