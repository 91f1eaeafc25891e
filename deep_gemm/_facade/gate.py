"""Expert choice of a mixture-of-experts router: `bf16_mega_gate` under its published signature.

idx, weights = bf16_mega_gate(x, weight, 8, False, 0, 2.5, 0, bias=bias)
bf16_mega_gate(x, weight, 8, False, 0, 2.5, 0, out=(idx, weights))
"""

from __future__ import annotations

from typing import Any

import torch

from .. import _ops, errors

__all__ = ["bf16_mega_gate"]

_GATE = _ops.op("bf16_mega_gate")
_NAME = "bf16_mega_gate"
_SCORING = "sqrtsoftplus"


def _refuse_what_has_no_definition(
    use_shared_as_routed: bool, scoring_func: str, force_random: object
) -> None:
    if scoring_func != _SCORING:
        raise errors.Unsupported(
            errors.describe(
                _NAME, "scoring_func", repr(scoring_func), "GATE_SCORING",
                f"scores are {_SCORING}", f"pass scoring_func={_SCORING!r}",
            )
        )  # fmt: skip
    if use_shared_as_routed:
        raise errors.Unsupported(
            errors.describe(
                _NAME, "use_shared_as_routed", "True", "GATE_SHARED",
                "the ids of shared experts among routed ones are not defined here",
                "pass False, and append the slots of the shared experts",
            )
        )  # fmt: skip
    if force_random is not None and force_random is not False:
        raise errors.Unsupported(
            errors.describe(
                _NAME, "force_random", str(force_random), "GATE_RANDOM",
                "the choice follows from the scores",
                "pass unmapped_topk_idx with fix_routing_mask for a choice of your own",
            )
        )  # fmt: skip


def _outputs(
    x: torch.Tensor, num_topk: int, out: tuple[torch.Tensor, torch.Tensor] | None
) -> tuple[torch.Tensor, torch.Tensor]:
    if out is None:
        shape = (x.size(0), num_topk)
        return x.new_empty(shape, dtype=torch.int64), x.new_empty(shape, dtype=torch.float32)
    if isinstance(out, (tuple, list)) and len(out) == 2:
        return out[0], out[1]
    raise TypeError(
        errors.describe(
            _NAME, "out", f"a {type(out).__name__}", "GATE_OUT",
            "out is a pair: int64 ids, float32 weights", "pass out=(topk_idx, topk_weights)",
        )
    )  # fmt: skip


def bf16_mega_gate(
    x: torch.Tensor,
    weight: torch.Tensor,
    num_topk: int,
    use_shared_as_routed: bool,
    num_shared_experts: int,
    routed_scaling_factor: float,
    ep_rank: int,
    scoring_func: str = "sqrtsoftplus",
    mask: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    image_bias: torch.Tensor | None = None,
    image_token_mask: torch.Tensor | None = None,
    fix_routing_mask: torch.Tensor | None = None,
    to_physical_map: torch.Tensor | None = None,
    logical_count: torch.Tensor | None = None,
    unmapped_topk_idx: torch.Tensor | None = None,
    force_random: bool | None = None,
    out: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(int64 expert ids, float32 weights), both [tokens, num_topk], into `out` where it is given.

    x [tokens, hidden] and weight [experts, hidden] are bfloat16 and contiguous, 1 to 512 experts,
    num_topk at most 32. score = sqrt(softplus(x @ weight^T)) in float32; a token's experts are
    those of the largest score + bias (float32 [experts]), lower ids first where equal, and a NaN
    first of all; weights are the scores without bias over their sum, times routed_scaling_factor.

    Tokens whose `mask` is False get -1 and 0; those of `image_token_mask` rank by `image_bias`;
    those of `fix_routing_mask` keep the experts of `unmapped_topk_idx`, which is read only. With
    to_physical_map [experts, copies] and logical_count [experts] token t gets copy
    t % logical_count[e] of expert e. `use_shared_as_routed` and `force_random` are refused, so
    num_shared_experts and ep_rank have no effect.
    """
    _refuse_what_has_no_definition(use_shared_as_routed, scoring_func, force_random)
    topk_idx, topk_weights = _outputs(x, num_topk, out)
    try:
        _GATE(
            x, weight, num_topk, routed_scaling_factor, topk_idx, topk_weights, mask, bias,
            image_bias, image_token_mask, fix_routing_mask, to_physical_map, logical_count,
            unmapped_topk_idx,
        )  # fmt: skip
    except RuntimeError as error:
        raise errors.retyped(error) from None
    return topk_idx, topk_weights


def described(given: dict[str, Any]) -> dict[str, torch.Tensor | int | None]:
    """A bound call by the keys of a `supports` question (csrc/described_gate.cpp)."""
    given = dict(given)
    _refuse_what_has_no_definition(
        given.pop("use_shared_as_routed"), given.pop("scoring_func"), given.pop("force_random")
    )
    for name in ("num_shared_experts", "routed_scaling_factor", "ep_rank"):
        del given[name]
    out = given.pop("out")
    if out is not None:
        given["topk_idx"], given["topk_weights"] = out
    return given
