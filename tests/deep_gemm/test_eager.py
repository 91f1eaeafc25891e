"""The eager shortcut: for every operator it does what the operator does, or nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import deep_gemm
from deep_gemm import _eager, _ops, errors
from tests.support.operator_calls import OperatorCall, operator_call

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
# Without it: one that returns views, one that clears what it returns, those that return bytes of
# one dimension, and one of two kernels.
WITHOUT = {
    "_slice_symm_buffer_for_mega_moe",
    "bf16_mega_gate",
    "get_mqa_logits_metadata",
    "get_paged_sparse_mqa_logits_metadata",
    "get_sparse_mqa_logits_metadata",
}
NAMES = sorted(
    schema.partition("(")[0] for schema in _ops.query("schemas") if "Tensor" in schema
)  # fmt: skip
SHORT = [name for name in NAMES if name not in WITHOUT]
RETURNING = [name for name in SHORT if "logits" in name]

every_operator = pytest.mark.parametrize("name", SHORT)
on_devices = pytest.mark.parametrize("device", DEVICES)


def prepared(name: str, device: str = "cpu") -> OperatorCall:
    """A call whose kernel is there."""
    call = operator_call(name, device=device)
    _ops.op(name)(*call.arguments)
    return call


def warm(call: OperatorCall) -> Any:
    """The shortcut alone; NotImplemented when it stepped aside."""
    return _eager.launch(_eager.index_of(call.name), *call.arguments)


def assert_steps_aside(call: OperatorCall, arguments: list[Any] | None = None) -> None:
    call.spoil()
    given = call.arguments if arguments is None else arguments
    assert _eager.launch(_eager.index_of(call.name), *given) is NotImplemented
    assert all(bool(d.isnan().all()) for d in call.outputs())


def test_every_operator_on_tensors_has_a_shortcut_but_these() -> None:
    assert {name for name in NAMES if _eager.index_of(name) < 0} == WITHOUT
    assert _eager.index_of("get_jit") == -1
    assert _eager.index_of("nobody") == -1


@on_devices
@every_operator
def test_a_warm_call_gives_the_bits_of_the_operator(name: str, device: str) -> None:
    call = operator_call(name, device=device)
    result = _ops.op(name)(*call.arguments)
    want = [d.clone() for d in call.outputs()]
    for _ in range(3):
        call.spoil()
        again = warm(call)
        assert again is not NotImplemented
        for x, y in zip(want, call.outputs(), strict=True):
            assert torch.equal(x, y) and not bool(x.isnan().any())
        assert (again is None) == (result is None)
        assert result is None or torch.equal(again, result)


@every_operator
def test_what_was_not_called_before_is_left_to_the_operator(name: str) -> None:
    prepared(name)
    assert_steps_aside(operator_call(name, rows=200 + SHORT.index(name)))  # of nobody else


@pytest.mark.parametrize("name", [x for x in SHORT if x != "get_paged_mqa_logits_metadata"])
def test_nothing_to_compute_is_left_to_the_operator(name: str) -> None:
    assert_steps_aside(operator_call(name, rows=0))


def described(result: torch.Tensor) -> dict[str, Any]:
    return {
        "type": type(result),
        "dtype": result.dtype,
        "device": result.device,
        "sizes": result.shape,
        "strides": result.stride(),
        "offset": result.storage_offset(),
        "bytes": result.untyped_storage().nbytes(),
        "is resizable": result.untyped_storage().resizable(),
        "base": result._base,
        "needs a gradient": result.requires_grad,
        "is a leaf": result.is_leaf,
        "is of inference": result.is_inference(),
        "version": None if result.is_inference() else result._version,
    }


@on_devices
@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("name", RETURNING)
def test_results_are_allocated_as_by_the_operator(name: str, mode: Any, device: str) -> None:
    with mode():
        call = prepared(name, device)
        assert described(warm(call)) == described(_ops.op(name)(*call.arguments))


@pytest.mark.parametrize("name", RETURNING)
def test_memory_that_torch_has_to_fill_is_left_to_the_operator(name: str) -> None:
    call = prepared(name)
    torch.use_deterministic_algorithms(True)
    try:
        assert_steps_aside(call)
    finally:
        torch.use_deterministic_algorithms(False)
    assert warm(call) is not NotImplemented


@every_operator
def test_written_tensors_keep_their_version(name: str) -> None:
    call = prepared(name)
    before = [d._version for d in call.outputs()]
    assert warm(call) is not NotImplemented
    assert [d._version for d in call.outputs()] == before
    _ops.op(name)(*call.arguments)
    assert [d._version for d in call.outputs()] == before


class _Seen(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


class _Function(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@contextmanager
def _profiler() -> Iterator[None]:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        yield


MODES: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "dispatch mode": _Seen,
    "function mode": _Function,
    "profiler": _profiler,
    "autograd profiler": torch.autograd.profiler.profile,
    "check mode": deep_gemm.checking,
    "fake tensors": FakeTensorMode,
    "a device as context": lambda: torch.device("cpu"),
}


@pytest.mark.parametrize("mode", MODES)
def test_it_steps_aside_in_modes(mode: str) -> None:
    calls = [prepared(name) for name in SHORT]
    for call in calls:
        call.spoil()
    with MODES[mode]():
        stepped_aside = [warm(call) is NotImplemented for call in calls]
    assert all(stepped_aside)
    assert all(bool(d.isnan().all()) for call in calls for d in call.outputs())
    assert all(warm(call) is not NotImplemented for call in calls)


def test_it_steps_aside_under_functorch_and_tracers() -> None:
    calls = [prepared(name) for name in SHORT]

    def inside(x: torch.Tensor) -> torch.Tensor:
        assert all(warm(call) is NotImplemented for call in calls)
        return x + 1

    x = torch.ones(3)
    torch.vmap(inside)(x)
    torch.func.grad(lambda y: inside(y).sum())(x)
    torch.func.functionalize(inside)(x)
    torch.jit.trace(inside, (x,), check_trace=False)
    torch.fx.experimental.proxy_tensor.make_fx(inside)(x)


def test_a_dispatch_mode_sees_the_operator_of_the_facade() -> None:
    call = prepared("bf16_gemm_nt")
    with _Seen() as seen:
        deep_gemm.bf16_gemm_nt(*call.arguments[:4], alpha=call.arguments[4])
    assert any("bf16_gemm_nt" in name for name in seen.names)


class _Subclass(torch.Tensor):
    pass


class _Integer(int):
    pass


def strange(x: Any) -> list[Any]:
    """What stands for x and is not quite it."""
    if isinstance(x, torch.Tensor):
        others = [x.as_subclass(_Subclass), x.to("meta"), x.tolist(), (x,)]
        if x.is_floating_point():
            others.append(x.detach().requires_grad_())
        if x.dtype == torch.float32:
            others += [torch._neg_view(x), torch.complex(x, x).conj().imag, x.to_sparse()]
        return others
    if isinstance(x, bool):
        return [int(x), None, "x"]
    if isinstance(x, int):
        return [_Integer(x), bool(x), float(x), str(x), 1 << 80, None]
    if isinstance(x, float):
        return ["x", complex(x), torch.tensor(x)]
    return [3, b"x"] if isinstance(x, str) else []


@every_operator
def test_what_is_not_exactly_of_the_schema_is_left_to_the_operator(name: str) -> None:
    call = prepared(name)
    optional = [isinstance(x.type, torch.OptionalType) for x in _ops.op(name)._schema.arguments]
    for i, given in enumerate(call.arguments):
        for other in strange(given):
            if other is None and optional[i]:
                continue
            arguments = [*call.arguments]
            arguments[i] = other
            assert_steps_aside(call, arguments)
    assert_steps_aside(call, call.arguments[:-1])
    assert_steps_aside(call, [*call.arguments, None])
    assert warm(call) is not NotImplemented


def outcome(function: Callable[..., Any], arguments: list[Any]) -> tuple[Any, str]:
    try:
        function(*arguments)
    except Exception as error:
        typed = errors.retyped(error) if isinstance(error, RuntimeError) else error
        return type(typed), str(typed)
    return None, ""


@every_operator
def test_errors_are_those_of_the_operator(name: str) -> None:
    call = prepared(name)
    num_errors = 0
    for i, given in enumerate(call.arguments):
        wrong = strange(given)
        if isinstance(given, torch.Tensor):
            wrong = [given.double(), given.unsqueeze(0), given.flatten()[:-1], "x"]
        for other in wrong:
            arguments = [*call.arguments]
            arguments[i] = other
            want = outcome(_ops.op(name), arguments)
            assert outcome(_eager.operator(name), arguments) == want
            num_errors += want[0] is not None
    assert num_errors > 5


def test_parameters_are_launched_without_a_gradient_only() -> None:
    call = prepared("bf16_gemm_nt")
    call.arguments[1] = torch.nn.Parameter(call.arguments[1], requires_grad=False)
    assert warm(call) is not NotImplemented
    call.arguments[1].requires_grad_()
    assert_steps_aside(call)
    with torch.no_grad():
        assert warm(call) is not NotImplemented


def test_nonsense_is_refused() -> None:
    for arguments in [(), (0,), (999, 1), (-1, 1), ("0", 1), (0, *[None] * 40)]:
        assert _eager.launch(*arguments) is NotImplemented


def test_it_can_be_turned_off() -> None:
    code = (
        "from deep_gemm import _eager; "
        "print(_eager.index_of('bf16_gemm_nt'), _eager.operator('bf16_gemm_nt').__name__)"
    )
    env = os.environ | {"DG_EAGER_SHORTCUT": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["-1", "through_dispatcher"], done.stderr
