"""Every public function, one by one: on the CPU and a GPU, traced, checked, compiled, captured.

docs/operators.md is the table of these tests: tests/golden/operators.py reads their
parametrisation, so that a tick without a test cannot be.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

import deep_gemm
from deep_gemm import _absent, _fake, _ops
from tests.support.devices import DEVICES, NEEDS_CUDA
from tests.support.generation import is_supported
from tests.support.operators import SAMPLES, Tensors, arguments_of, assert_gives, is_same, results

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
NAMES = sorted(SAMPLES)
# With an operator of ours behind them; the others are made of torch's alone.
OWN = [name for name in NAMES if name in _fake.FAKES or name == "fp8_gemm_nt_skip_head_mid"]

_LINES = [line.partition(": ") for line in (GOLDEN / "contract.txt").read_text().splitlines()]
SIGNATURES = [(kind, text) for kind, _, text in _LINES if kind != "absent"]
ABSENT = [text for kind, _, text in _LINES if kind == "absent"]


class Recorder(TorchDispatchMode):
    """Keeps the calls of our operators."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace.startswith("deep_gemm"):
            self.calls.append((func, args, kwargs or {}))
        return func(*args, **(kwargs or {}))


def recorded(name: str) -> list[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    with Recorder() as recorder:
        SAMPLES[name].run(**SAMPLES[name].tensors(1))
    return recorder.calls


@pytest.mark.parametrize("name", NAMES)
def test_on_the_cpu_it_gives_what_it_has_to(name: str) -> None:
    sample = SAMPLES[name]
    x = sample.tensors(1)
    before = {key: value.clone() for key, value in x.items()}
    assert_gives(sample.run(**x), sample.want(**x), sample)
    for key, value in x.items():
        assert is_same(value, before[key]), f"{key} changed"


@pytest.mark.parametrize("name", NAMES)
def test_the_default_device_does_not_matter(name: str) -> None:
    sample = SAMPLES[name]
    x = sample.tensors(1)
    want = results(sample.run(**x))
    with torch.device("meta"):
        got = results(sample.run(**x))
    for one, other in zip(got, want, strict=True):
        assert one.device.type == "cpu" and is_same(one, other)


@NEEDS_CUDA
@pytest.mark.parametrize("name", NAMES)
def test_on_a_gpu_it_gives_what_it_has_to(name: str) -> None:
    sample = SAMPLES[name]
    got = sample.run(**arguments_of(sample, 1, "cuda"))
    assert all(x.is_cuda for x in results(got))
    assert_gives(got, sample.want(**sample.tensors(1)), sample)


@pytest.mark.parametrize("arch", ["80", "86", "89", "90a", "100", "103", "120"])
@pytest.mark.parametrize("name", OWN)
def test_every_generation_supports_the_call(name: str, arch: str) -> None:
    ok, why = is_supported(name, arch)
    assert ok, why


@pytest.mark.parametrize("name", NAMES)
def test_fake_tensors_give_shapes_types_and_strides(name: str) -> None:
    sample = SAMPLES[name]
    x = sample.tensors(1)
    real = results(sample.run(**x))
    with FakeTensorMode() as mode:
        fake = results(sample.run(**{key: mode.from_tensor(value) for key, value in x.items()}))
    for one, other in zip(fake, real, strict=True):
        assert one.shape == other.shape and one.dtype == other.dtype
        assert one.stride() == other.stride() and one.device == other.device


@pytest.mark.parametrize("name", OWN)
def test_opcheck(name: str) -> None:
    calls = recorded(name)
    assert calls, "no operator of ours was called"
    for func, args, kwargs in calls:
        # A name that shares its function with another has an operator of its own.
        is_last = func is calls[-1][0] and name in _fake.FAKES
        op = getattr(getattr(torch.ops, _ops.NAMESPACE), name).default if is_last else func
        checks = ["test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"]
        # torch compares copies of the arguments, which it cannot do for 8-bit floats.
        flat = [x for x in args if isinstance(x, torch.Tensor)]
        if not any(x.dtype == torch.float8_e4m3fn for x in flat):
            checks.append("test_schema")
        torch.library.opcheck(op, args, kwargs, test_utils=checks)


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(OWN)))
def test_what_is_made_of_torch_calls_no_operator_of_ours(name: str) -> None:
    assert recorded(name) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_compiled_full_graph_gives_the_same_bits(name: str) -> None:
    sample = SAMPLES[name]

    def call(x: Tensors) -> Any:
        return sample.run(**x)

    torch._dynamo.reset()
    x = sample.tensors(1)
    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    for one, other in zip(results(compiled(x)), results(call(x)), strict=True):
        assert is_same(one, other)


@NEEDS_CUDA
@pytest.mark.parametrize("name", NAMES)
def test_a_captured_call_follows_new_data(name: str) -> None:
    sample = SAMPLES[name]
    x = arguments_of(sample, 1, "cuda")
    sample.run(**x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = sample.run(**x)
    for seed in (2, 3, 1):
        for key, value in arguments_of(sample, seed, "cuda").items():
            x[key].copy_(value)
        graph.replay()
        for one, other in zip(results(got), results(sample.run(**x)), strict=True):
            assert is_same(one, other), f"seed {seed}"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", NAMES)
def test_twenty_calls_give_the_same_bits(name: str, device: str) -> None:
    sample = SAMPLES[name]
    x = arguments_of(sample, 1, device)
    first = [one.clone() for one in results(sample.run(**x))]
    for call in range(19):
        for one, other in zip(results(sample.run(**x)), first, strict=True):
            assert is_same(one, other), f"call {call + 2}"


@pytest.mark.parametrize(
    "name", [x for x in OWN if x in {s.partition("(")[0] for s in _ops.query("schemas")}]
)
def test_supports_knows_the_name(name: str) -> None:
    assert deep_gemm.supports(name) == (True, "")
    assert name in deep_gemm.features()


def function_of(dotted: str) -> Any:
    value: Any = deep_gemm
    for part in dotted.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize(
    ("generation", "text"), SIGNATURES, ids=[f"{kind}-{text}" for kind, text in SIGNATURES]
)
def test_published_signatures_bind(generation: str, text: str) -> None:
    name, _, rest = text.partition("(")
    call = inspect.signature(function_of(name))
    published = inspect.signature(eval(f"lambda {rest[:-1]}: None", {"torch": torch}))
    parameters = list(published.parameters.values())
    required = [p.name for p in parameters if p.default is inspect.Parameter.empty]
    call.bind(*parameters)
    call.bind(*required)
    for p in parameters[len(required) :]:
        call.bind(*required, **{p.name: p.default})
    call.bind(**{p.name: p.default for p in parameters})


def test_a_signature_that_does_not_bind_is_noticed() -> None:
    with pytest.raises(TypeError):
        test_published_signatures_bind("2.6", "cublaslt_gemm_nt(a, b, d, c=None, alpha=None)")


@pytest.mark.parametrize("name", ABSENT)
def test_an_absent_name_says_why(name: str) -> None:
    module, _, last = name.rpartition(".")
    assert not hasattr(function_of(module) if module else deep_gemm, last)
    if not module:
        assert _absent.reason(name)


def test_the_document_is_the_generated_one() -> None:
    from tests.golden import operators

    path = GOLDEN.parents[1] / "docs/operators.md"
    assert path.read_text() == operators.document(), "run python -m tests.golden.operators"


def test_every_public_name_has_a_row_and_every_row_a_test() -> None:
    from tests.golden import operators

    assert set(_fake.FAKES) <= set(OWN), "a registered operator that no test here calls"
    rows = {row.name for row in operators.rows()}
    public = {x for x in (*deep_gemm.__all__, *deep_gemm._C.__all__) if not x.startswith("__")}
    assert public - rows == set()
    published = {text.partition("(")[0] for _, text in SIGNATURES}
    assert {x for x in published if "." not in x} - rows == set()
    assert set(ABSENT) - rows == set()
    for row in operators.rows():
        assert row.tests, f"{row.name}: no test"


def test_a_tick_is_a_parametrised_test() -> None:
    from tests.golden import operators

    source = Path(__file__).read_text()
    for row in operators.rows():
        for tick in row.ticks:
            assert re.search(rf"^def {tick}\(", source, re.M)
            assert row.name in operators.parametrised(tick)
