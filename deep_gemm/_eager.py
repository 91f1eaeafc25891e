"""When a warm call may go straight to its launch, past torch's dispatcher.

    if not torch.compiler.is_compiling() and launch(_INDEX, a, a_scale, ...):
        return
    operator(a, a_scale, ...)

`launch` is the extension's own function: True when it launched what the operator would have, False
when it did nothing. It steps aside for tensors of a subclass or on a CPU, under dispatch and
function modes, functorch and the profiler, in check mode, for whatever was not called before with
these shapes, and with a torch that offers no DLPack exchange API. DG_EAGER_SHORTCUT=0 turns it off.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import torch

__all__ = ["index_of", "launch"]


def _nothing(*arguments: Any) -> bool:
    return False


def _questions() -> list[Any]:
    """Functions that answer 0, False or None when no mode needs to see operators."""
    return [
        torch._C._len_torch_dispatch_stack,
        torch._C._len_torch_function_stack,
        torch._C._functorch.peek_interpreter_stack,
        torch._C._autograd._profiler_enabled,
    ]


def _start() -> Any:
    if os.environ.get("DG_EAGER_SHORTCUT", "1") in ("0", "false", "no"):
        return None
    exchange = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
    if exchange is None:
        return None
    try:
        module = importlib.import_module(f"{__package__}._C_extension")
        types = (torch.Tensor, torch.nn.Parameter)
        is_started = module.eager_start(
            exchange, torch.Tensor.is_neg, len(types), *types, *_questions()
        )
    except (AttributeError, ImportError):
        return None  # a CPython without the stable ABI, or a torch without one of the questions
    return module if is_started else None


_module = _start()

launch = _nothing if _module is None else _module.eager


def index_of(op: str) -> int:
    """The number under which `launch` knows an operator; -1 for none."""
    return -1 if _module is None else _module.eager_index(op)
