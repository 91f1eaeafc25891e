"""bf16_mega_gate against the float64 reference: choices, weights, masks, maps, registration.

Longer than usual: one maker of operands serves numbers, registration and refusals.
"""

import re
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses import FakeTensorMode

import deep_gemm
from deep_gemm import _fakes_gate, _ops, errors, reference
from deep_gemm.testing import assert_bitwise_equal
from tests.support.devices import DEVICES, NEEDS_CUDA

on_every_device = pytest.mark.parametrize("device", DEVICES)
Pair = tuple[torch.Tensor, torch.Tensor]

OPERATOR = getattr(torch.ops, _ops.NAMESPACE).bf16_mega_gate.default


def operands(tokens: int, experts: int, hidden: int, device: str = "cpu") -> Pair:
    """x and weight whose logits are multiples of 1/8, distinct in a row as far as that goes."""
    g = torch.Generator().manual_seed(tokens * 7 + experts * 3 + hidden)
    x = torch.zeros(tokens, hidden)
    x[:, 0] = 1.0
    ranks = torch.randperm(experts, generator=g) - experts // 2
    weight = torch.zeros(experts, hidden)
    weight[:, 0] = ranks / 8
    if hidden > 1:
        x[:, 1] = torch.randint(-8, 9, (tokens,), generator=g).float()
        weight[:, 1] = torch.randint(-1, 2, (experts,), generator=g).float()
    return x.bfloat16().to(device), weight.bfloat16().to(device)


def gate(x: torch.Tensor, weight: torch.Tensor, topk: int, scale: float, **more: Any) -> Pair:
    return deep_gemm.bf16_mega_gate(x, weight, topk, False, 0, scale, 0, **more)


def assert_right(got: Pair, want: Pair) -> None:
    """The same experts but where two rank closer than float32 tells apart; weights to rounding."""
    assert got[0].dtype == torch.int64 and got[1].dtype == torch.float32
    assert got[0].shape == got[1].shape == want[0].shape
    assert torch.equal(got[0], want[0])
    torch.testing.assert_close(got[1].double(), want[1], rtol=1e-5, atol=1e-6)


def more_of(kind: str, tokens: int, experts: int, topk: int, device: str) -> dict[str, Any]:
    g = torch.Generator().manual_seed(5)

    def coin() -> torch.Tensor:
        return (torch.rand(tokens, generator=g) < 0.5).to(device)

    bias = (torch.randint(-16, 17, (2, experts), generator=g) / 8).to(device)
    fixed = torch.stack([torch.randperm(experts, generator=g)[:topk] for _ in range(tokens)])
    copies = torch.randint(1, 4, (experts,), generator=g)
    return {
        "plain": {},
        "bias": {"bias": bias[0]},
        "mask": {"mask": coin()},
        "images": {"bias": bias[0], "image_bias": bias[1], "image_token_mask": coin()},
        "fixed": {"fix_routing_mask": coin(), "unmapped_topk_idx": fixed.to(device)},
        "mapped": {
            "to_physical_map": torch.arange(experts * 3).view(experts, 3).int().to(device),
            "logical_count": copies.to(device),
        },
    }[kind]


KINDS = ["plain", "bias", "mask", "images", "fixed", "mapped"]


@on_every_device
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("tokens", "experts", "hidden", "topk"),
    [(1, 8, 256, 2), (37, 256, 512, 8), (130, 384, 256, 6), (5, 512, 64, 32), (9, 33, 40, 3)],
)
def test_choices_and_weights_are_those_of_the_reference(
    tokens: int, experts: int, hidden: int, topk: int, kind: str, device: str
) -> None:
    x, weight = operands(tokens, experts, hidden, device)
    more = more_of(kind, tokens, experts, topk, device)
    want = reference.bf16_mega_gate(x, weight, topk, 2.5, dtype=torch.float32, **more)
    assert_right(gate(x, weight, topk, 2.5, **more), (want[0], want[1].double()))


@on_every_device
def test_random_inputs_choose_experts_of_the_largest_scores(device: str) -> None:
    g = torch.Generator().manual_seed(3)
    x = torch.randn(64, 1024, generator=g).bfloat16().to(device)
    weight = (torch.randn(256, 1024, generator=g) / 32).bfloat16().to(device)
    idx, weights = gate(x, weight, 8, 1.0)
    logits = x.double() @ weight.double().t()
    scores = torch.nn.functional.softplus(logits).sqrt()
    least = scores.topk(8).values[:, -1:]
    assert bool((scores.gather(1, idx) >= least - 1e-5).all())
    assert all(len(set(row)) == 8 for row in idx.tolist())
    assert bool((weights.sum(1) - 1).abs().max() < 1e-5)
    chosen = scores.gather(1, idx)
    torch.testing.assert_close(
        weights.double(), chosen / chosen.sum(1, keepdim=True), rtol=1e-4, atol=1e-6
    )


@on_every_device
def test_out_is_written_and_returned(device: str) -> None:
    x, weight = operands(9, 64, 64, device)
    want = gate(x, weight, 4, 1.5)
    out = torch.empty_like(want[0]), torch.empty_like(want[1])
    got = gate(x, weight, 4, 1.5, out=out)
    assert got[0] is out[0] and got[1] is out[1]
    assert torch.equal(out[0], want[0]) and torch.equal(out[1], want[1])


@on_every_device
def test_no_tokens_give_empty_outputs(device: str) -> None:
    idx, weights = gate(*operands(0, 64, 64, device), 4, 1.0)
    assert idx.shape == weights.shape == (0, 4)


@on_every_device
def test_nans_choose_valid_experts_and_spoil_their_token_alone(device: str) -> None:
    x, weight = operands(8, 64, 64, device)
    want = gate(x, weight, 6, 1.0)
    x = x.clone()
    x[3] = float("nan")
    idx, weights = gate(x, weight, 6, 1.0)
    assert sorted(idx[3].tolist()) == list(range(6)) and bool(weights[3].isnan().all())
    others = [0, 1, 2, 4, 5, 6, 7]
    assert torch.equal(idx[others], want[0][others])
    assert torch.equal(weights[others], want[1][others])


@on_every_device
def test_ids_of_32_and_64_bits_mean_the_same(device: str) -> None:
    x, weight = operands(9, 64, 64, device)
    fixed = more_of("fixed", 9, 64, 4, device)
    mapped = more_of("mapped", 9, 64, 4, device)
    want = gate(x, weight, 4, 1.0, **fixed, **mapped)
    for to in (torch.int32, torch.int64):
        got = gate(
            x, weight, 4, 1.0,
            fix_routing_mask=fixed["fix_routing_mask"].to(torch.uint8),
            unmapped_topk_idx=fixed["unmapped_topk_idx"].to(to),
            to_physical_map=mapped["to_physical_map"].to(to),
            logical_count=mapped["logical_count"].to(to),
        )  # fmt: skip
        assert torch.equal(got[0], want[0]) and torch.equal(got[1], want[1])


@on_every_device
def test_fixed_ids_outside_the_experts_are_none(device: str) -> None:
    x, weight = operands(2, 16, 64, device)
    fixed = torch.tensor([[-1, 99, 3], [1 << 20, -7, -1]], device=device)
    keep = torch.ones(2, dtype=torch.bool, device=device)
    idx, weights = gate(x, weight, 3, 2.0, fix_routing_mask=keep, unmapped_topk_idx=fixed)
    assert idx.tolist() == [[-1, -1, 3], [-1, -1, -1]]
    assert weights.tolist() == [[0.0, 0.0, 2.0], [0.0, 0.0, 0.0]]


@on_every_device
def test_twenty_calls_give_the_same_bits_and_change_no_input(device: str) -> None:
    x, weight = operands(70, 256, 512, device)
    more = more_of("images", 70, 256, 8, device)
    given = [x, weight, *more.values()]
    before = [t.clone() for t in given]
    first = gate(x, weight, 8, 2.5, **more)
    for number in range(20):
        again = gate(x, weight, 8, 2.5, **more)
        for got, want in zip(again, first, strict=True):
            assert_bitwise_equal(got, want, f"call {number}")
    assert all(torch.equal(t, saved) for t, saved in zip(given, before, strict=True))


@settings(deadline=None, max_examples=25)
@given(
    tokens=st.integers(0, 40),
    experts=st.integers(1, 512),
    hidden=st.sampled_from([1, 8, 40, 256]),
    topk=st.integers(1, 32),
    kind=st.sampled_from(KINDS),
)
def test_any_size_matches_the_reference(
    tokens: int, experts: int, hidden: int, topk: int, kind: str
) -> None:
    topk = min(topk, experts)
    x, weight = operands(tokens, experts, hidden)
    more = more_of(kind, tokens, experts, topk, "cpu") if tokens else {}
    want = reference.bf16_mega_gate(x, weight, topk, 1.0, dtype=torch.float32, **more)
    assert_right(gate(x, weight, topk, 1.0, **more), (want[0], want[1].double()))


@pytest.mark.parametrize("kind", KINDS)
def test_opcheck(kind: str) -> None:
    x, weight = operands(9, 64, 64)
    idx, weights = torch.zeros(9, 4, dtype=torch.int64), torch.zeros(9, 4)
    more = more_of(kind, 9, 64, 4, "cpu")
    torch.library.opcheck(OPERATOR, (x, weight, 4, 2.5, idx, weights), more)


def test_fake_tensors_have_no_data_to_read() -> None:
    x, weight = operands(9, 64, 64)
    with FakeTensorMode() as mode:
        idx, weights = gate(mode.from_tensor(x), mode.from_tensor(weight), 4, 1.0)
    assert idx.shape == weights.shape == (9, 4)


def test_full_graph_over_five_sizes_recompiles_at_most_once() -> None:
    graphs = []

    def backend(module: torch.fx.GraphModule, inputs: list) -> object:
        graphs.append(module)
        return module.forward

    def route(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        idx, weights = gate(x, weight, 4, 1.0)
        return weights.double() + idx

    torch._dynamo.reset()
    compiled = torch.compile(route, fullgraph=True, dynamic=True, backend=backend)
    for tokens in (5, 9, 16, 33, 64):
        x, weight = operands(tokens, 64, 64)
        assert torch.equal(compiled(x, weight), route(x, weight))
    assert len(graphs) <= 2


@pytest.mark.parametrize("kind", KINDS)
def test_the_way_out_without_a_compiler_gives_the_same(kind: str) -> None:
    x, weight = operands(19, 64, 64)
    given = more_of(kind, 19, 64, 4, "cpu")
    want = gate(x, weight, 4, 2.5, **given)
    names = ("mask", "bias", "image_bias", "image_token_mask", "fix_routing_mask")
    names += ("to_physical_map", "logical_count", "unmapped_topk_idx")
    idx, weights = torch.empty_like(want[0]), torch.empty_like(want[1])
    logits = x.float() @ weight.float().t()
    _fakes_gate._reference_bf16_mega_gate(
        logits, 2.5, idx, weights, *(given.get(name) for name in names)
    )
    assert_right((idx, weights), (want[0], want[1].double()))


def wrong_calls() -> dict[str, tuple[str, str, dict[str, Any]]]:
    x, weight = operands(9, 64, 64)
    half = torch.zeros(9, dtype=torch.float16)
    return {
        "x-dtype": ("x", "GATE_DTYPE", {"x": x.float()}),
        "x-rank": ("x", "GATE_SHAPE", {"x": x[0]}),
        "x-strides": ("x", "GATE_CONTIGUOUS", {"x": x.t().contiguous().t()}),
        "hidden": ("weight", "GATE_SHAPE", {"weight": weight[:, :32].contiguous()}),
        "experts": ("weight", "GATE_EXPERTS", {"weight": weight.repeat(9, 1)}),
        "topk": ("num_topk", "GATE_TOPK", {"num_topk": 33}),
        "topk-zero": ("num_topk", "GATE_TOPK", {"num_topk": 0}),
        "mask": ("mask", "GATE_DTYPE", {"mask": half}),
        "bias": ("bias", "GATE_SHAPE", {"bias": torch.zeros(63)}),
        "image": ("image_bias", "GATE_TOGETHER", {"image_bias": torch.zeros(64)}),
        "fixed": ("fix_routing_mask", "GATE_TOGETHER", {"fix_routing_mask": half.bool()}),
        "count": (
            "logical_count",
            "GATE_TOGETHER",
            {"logical_count": torch.ones(64, dtype=torch.int32)},
        ),
        "shared": ("use_shared_as_routed", "GATE_SHARED", {"use_shared_as_routed": True}),
        "scoring": ("scoring_func", "GATE_SCORING", {"scoring_func": "softmax"}),
        "random": ("force_random", "GATE_RANDOM", {"force_random": True}),
        "out": (
            "topk_idx",
            "GATE_DTYPE",
            {"out": (torch.zeros(9, 4, dtype=torch.int32), torch.zeros(9, 4))},
        ),
    }


@pytest.mark.parametrize("name", wrong_calls())
def test_a_wrong_call_names_op_argument_given_rule_and_fix(name: str) -> None:
    argument, rule, change = wrong_calls()[name]
    x, weight = operands(9, 64, 64)
    call: dict[str, Any] = {"x": x, "weight": weight, "num_topk": 4, "num_shared_experts": 0}
    call |= {"use_shared_as_routed": False, "routed_scaling_factor": 1.0, "ep_rank": 0} | change
    with pytest.raises((errors.InvalidArgument, errors.Unsupported)) as caught:
        deep_gemm.bf16_mega_gate(**call)
    text = str(caught.value)
    assert re.match(rf"deep_gemm\.bf16_mega_gate: {argument}: given \S", text), text
    assert f"\n  Rule {rule}: " in text and "\n  Fix: " in text, text
    ok, why = deep_gemm.supports("bf16_mega_gate", **call)
    assert not ok and rule in why


def test_support_is_answered_for_every_generation() -> None:
    x, weight = (t.to("meta") for t in operands(9, 64, 64))
    for arch in ("80", "90a", "100", "120", "x86-64-v3"):
        call = x, weight, 4, False, 0, 1.0, 0
        assert deep_gemm.supports("bf16_mega_gate", *call, arch=arch) == (True, "")
        plan = deep_gemm.plan("bf16_mega_gate", *call, arch=arch)
        assert plan["plan"].startswith("host" if arch[0] == "x" else "portable")
    ok, why = deep_gemm.supports("bf16_mega_gate", *call, arch="75")
    assert not ok and "NO_KERNEL_FOR_DEVICE" in why


def test_out_that_is_no_pair_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="GATE_OUT"):
        gate(*operands(9, 64, 64), 4, 1.0, out=torch.zeros(9, 4))


@NEEDS_CUDA
def test_a_captured_call_follows_new_tokens() -> None:
    x, weight = operands(64, 256, 512, "cuda")
    more = more_of("images", 64, 256, 8, "cuda")
    gate(x, weight, 8, 2.5, **more)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = gate(x, weight, 8, 2.5, **more)
    for number in range(100):
        x.normal_()
        graph.replay()
        want = gate(x, weight, 8, 2.5, **more)
        assert torch.equal(got[0], want[0]), f"replay {number}"
        assert_bitwise_equal(got[1], want[1], f"replay {number}")
