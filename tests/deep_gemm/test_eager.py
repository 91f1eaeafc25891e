"""The eager shortcut: it does what the operator does, or nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import deep_gemm
from deep_gemm import _eager, _ops
from deep_gemm.utils import per_block_cast_to_fp8, per_token_cast_to_fp8

has_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
INDEX = _eager.index_of("bf16_gemm_nt")

Operands = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def operands(device: str, m: int = 33, n: int = 64, k: int = 128) -> Operands:
    a = torch.randn(m, k, device=device).bfloat16()
    b = torch.randn(n, k, device=device).bfloat16()
    return a, b, torch.full((m, n), float("nan"), device=device, dtype=torch.bfloat16)


def test_dense_operators_have_a_shortcut_and_others_have_none() -> None:
    for name in ("fp8_gemm", "bf16_gemm"):
        for letters in ("nt", "nn", "tn", "tt"):
            assert _eager.index_of(f"{name}_{letters}") >= 0
    assert _eager.index_of("get_jit") == -1


def test_cpu_tensors_and_nonsense_are_left_to_the_operator() -> None:
    a, b, d = operands("cpu")
    assert _eager.launch(INDEX, a, b, d, None, None) is False
    assert _eager.launch(INDEX, "a", b, d, None, None) is False
    assert _eager.launch(INDEX) is False
    assert _eager.launch(999, a, b, d) is False
    assert _eager.launch(INDEX, *[a] * 40) is False
    assert bool(d.isnan().all())


def test_it_can_be_turned_off() -> None:
    code = "from deep_gemm import _eager; print(_eager.index_of('bf16_gemm_nt'))"
    import os

    env = os.environ | {"DG_EAGER_SHORTCUT": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.stdout.strip() == "-1", done.stderr


@has_gpu
def test_only_what_an_operator_prepared_is_launched() -> None:
    a, b, d = operands("cuda", m=37)
    deep_gemm.bf16_gemm_nt(a, b, d)
    want = d.clone()
    for _ in range(3):
        d.fill_(float("nan"))
        assert _eager.launch(INDEX, a, b, d, None, None) is True
        assert torch.equal(d, want)
    other = operands("cuda", m=38)
    assert _eager.launch(INDEX, *other, None, None) is False
    assert bool(other[2].isnan().all())


@has_gpu
def test_scaled_operands_accumulation_and_recipes_give_the_operator_s_bits() -> None:
    x, y = torch.randn(64, 256, device="cuda"), torch.randn(128, 256, device="cuda")
    a = per_token_cast_to_fp8(x.bfloat16(), use_ue8m0=False)
    b = per_block_cast_to_fp8(y.bfloat16(), use_ue8m0=False)
    c = torch.randn(64, 128, device="cuda")
    op = _ops.op("fp8_gemm_nt")
    index = _eager.index_of("fp8_gemm_nt")
    for c_given in (None, c):
        want, got = torch.empty_like(c), torch.empty_like(c)
        arguments = (*a, *b)
        op(*arguments, want, c_given, 1, 128, 128, 128, False, None)
        call = (*arguments, got, c_given, 1, 128, 128, 128, False, None)
        if not _eager.launch(index, *call):  # alignment is part of what was prepared
            op(*call)
            got.fill_(float("nan"))
            assert _eager.launch(index, *call)
        assert torch.equal(want, got)


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


class _Subclass(torch.Tensor):
    pass


@contextmanager
def _profiler() -> Iterator[None]:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        yield


MODES: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "dispatch mode": _Seen,
    "function mode": _Function,
    "profiler": _profiler,
    "check mode": deep_gemm.checking,
}


@has_gpu
@pytest.mark.parametrize("mode", MODES)
def test_it_steps_aside_in_modes(mode: str) -> None:
    a, b, d = operands("cuda")
    deep_gemm.bf16_gemm_nt(a, b, d)
    d.fill_(float("nan"))
    with MODES[mode]():
        assert _eager.launch(INDEX, a, b, d, None, None) is False
    assert bool(d.isnan().all())
    with nullcontext():
        assert _eager.launch(INDEX, a, b, d, None, None) is True


@has_gpu
def test_a_dispatch_mode_sees_the_operator_of_the_facade() -> None:
    a, b, d = operands("cuda")
    deep_gemm.bf16_gemm_nt(a, b, d)
    with _Seen() as seen:
        deep_gemm.bf16_gemm_nt(a, b, d)
    assert any("bf16_gemm_nt" in name for name in seen.names)


@has_gpu
def test_subclasses_and_negated_views_are_left_to_the_operator() -> None:
    a, b, d = operands("cuda")
    deep_gemm.bf16_gemm_nt(a, b, d)
    assert _eager.launch(INDEX, a.as_subclass(_Subclass), b, d, None, None) is False
    wide = torch.empty(33, 64, device="cuda")
    deep_gemm.bf16_gemm_nt(a, b, wide)
    c = torch.ones(33, 64, device="cuda")
    deep_gemm.bf16_gemm_nt(a, b, wide, c=c)
    assert _eager.launch(INDEX, a, b, wide, torch._neg_view(c), None) is False


@has_gpu
def test_parameters_and_views_are_launched() -> None:
    a, b, d = operands("cuda")
    weight = torch.nn.Parameter(b, requires_grad=False)
    deep_gemm.bf16_gemm_nt(a, weight, d)
    want = d.clone()
    d.fill_(float("nan"))
    assert _eager.launch(INDEX, a, weight, d, None, None) is True
    assert torch.equal(d, want)


@has_gpu
def test_a_graph_captures_it_and_replays_new_data() -> None:
    a, b, d = operands("cuda")
    deep_gemm.bf16_gemm_nt(a, b, d)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        assert _eager.launch(INDEX, a, b, d, None, None) is True
    a.copy_(torch.randn_like(a))
    graph.replay()
    got = d.clone()
    deep_gemm.bf16_gemm_nt(a, b, d)
    assert torch.equal(got, d)
