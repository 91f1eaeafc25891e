"""Operators as the facade calls them: warm calls straight to their launch, past torch's dispatcher.

    fp8_gemm_nt = operator("fp8_gemm_nt", {0: "a", 1: "b", 4: 4})
    fp8_gemm_nt((a, a_scale), (b, b_scale), d, None, (0, 0, 0, 0), False, None)   # as in the schema

The one place where an operator gets its shortcut: `launch` is the extension's own function, which
does what the operator would have, or nothing. It steps aside for tensors of a subclass, for those
that need a gradient, under dispatch and function modes, functorch, tracers and the profiler, in
check mode, for whatever was not called before with these shapes, for arguments that are not exactly
of the schema's types, and with a torch that offers no DLPack exchange API. DG_EAGER_SHORTCUT=0
turns it off.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from . import _ops, errors
from ._pairs import pair

__all__ = ["index_of", "launch", "operator"]


def _nothing(*arguments: Any) -> Any:
    return NotImplemented


def _questions() -> tuple[Any, ...]:
    """Functions that answer 0, False or None when no mode needs to see operators."""
    return (
        torch._C._len_torch_dispatch_stack,
        torch._C._len_torch_function_stack,
        torch._C._functorch.peek_interpreter_stack,
        torch._C._autograd._profiler_enabled,
        torch._C._is_tracing,
    )


def _fills() -> tuple[Any, ...]:
    """Those that answer so when new memory is left as it comes."""
    return (torch._C._get_deterministic_algorithms,)


def _allocators() -> tuple[Any, ...]:
    """Functions behind operators that return tensors; without them those have no shortcut."""
    try:
        guards = torch._C._dynamo.guards
        return (guards._empty_strided_cpu, guards._empty_strided_cuda, guards._reinterpret_tensor)
    except AttributeError:
        return ()


def _start() -> Any:
    if os.environ.get("DG_EAGER_SHORTCUT", "1") in ("0", "false", "no"):
        return None
    exchange = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
    if exchange is None:
        return None
    try:
        module = importlib.import_module(f"{__package__}._C_extension")
        is_started = module.eager_start(
            exchange,
            torch.Tensor.is_neg,
            "requires_grad",
            (torch.Tensor, torch.nn.Parameter),
            _questions(),
            _fills(),
            _allocators(),
            (torch.float32, torch.bfloat16, torch.int32),
        )
    except (AttributeError, ImportError):
        return None  # a CPython without the stable ABI, or a torch without one of the questions
    return module if is_started else None


_module = _start()

launch = _nothing if _module is None else _module.eager


def index_of(op: str) -> int:
    """The number under which `launch` knows an operator; -1 for none."""
    return -1 if _module is None else _module.eager_index(op)


def _form(tuples: Mapping[int, str | int]) -> int:
    """Above the index, three bits an argument: how long a tuple it is, 0 for none."""
    sizes = {i: 2 if isinstance(what, str) else what for i, what in tuples.items()}
    return sum(size << 8 + 3 * i for i, size in sizes.items())


def operator(name: str, tuples: Mapping[int, str | int] | None = None) -> Callable[..., Any]:
    """The operator `name` of this extension; its errors are typed.

    Takes the arguments of its schema, all of them and by position. `tuples` says which of them come
    as a tuple: by position the name of a `(data, scale)` pair, or the number of integers.
    """
    tuples = tuples or {}
    overload = _ops.op(name)
    index = index_of(name)
    form = index | _form(tuples)
    is_compiling = torch.compiler.is_dynamo_compiling

    def flat(arguments: Sequence[Any]) -> list[Any]:
        values: list[Any] = []
        for i, given in enumerate(arguments):
            what = tuples.get(i)
            if what is None:
                values.append(given)
            else:
                values += pair(name, what, given) if isinstance(what, str) else given
        return values

    def through_dispatcher(*arguments: Any) -> Any:
        values = flat(arguments)
        try:
            return overload(*values)
        except RuntimeError as error:
            raise errors.retyped(error) from None

    def call(*arguments: Any) -> Any:
        if not is_compiling():
            result = launch(form, *arguments)
            if result is not NotImplemented:
                return result
        return through_dispatcher(*arguments)

    return through_dispatcher if index < 0 else call
