"""`(data, scale)` pairs taken apart, or refused.

a_data, a_scale = pair("fp8_gemm_nt", "a", a)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from . import errors

__all__ = ["Pair", "pair", "pair_error"]

Pair = Sequence[torch.Tensor]


def pair_error(op: str, argument: str, given: object) -> TypeError:
    if isinstance(given, torch.Tensor):
        what = f"a bare {str(given.dtype)[6:]} tensor of shape {tuple(given.shape)}"
    elif isinstance(given, (tuple, list)):
        what = f"a {type(given).__name__} of ({', '.join(type(x).__name__ for x in given)})"
    else:
        what = f"a {type(given).__name__}"
    return TypeError(
        errors.describe(
            op,
            argument,
            what,
            "SCALED_PAIR",
            "a scaled operand is a tuple or list of two tensors, (data, scale)",
            f"pass {argument}=(data, scale), for example from per_token_cast_to_fp8",
        )
    )


def pair(op: str, argument: str, given: Any) -> tuple[torch.Tensor, torch.Tensor]:
    if isinstance(given, (tuple, list)) and len(given) == 2:
        data, scale = given
        if isinstance(data, torch.Tensor) and isinstance(scale, torch.Tensor):
            return data, scale
    raise pair_error(op, argument, given)
