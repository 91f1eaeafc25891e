"""The logits operators in torch's registry: fakes, opcheck, full graphs, references, refusals."""

import re
from typing import Any

import pytest
import torch
from torch._subclasses import FakeTensorMode

import deep_gemm
from deep_gemm import _fakes_logits, _fakes_sparse, _ops, errors
from tests.support import sparse_logits
from tests.support.logits import KINDS, LogitsCase, expected, expected_paged, run_paged

NAMES = sorted(_fakes_logits.FAKES | _fakes_sparse.FAKES)


def operator(name: str) -> torch._ops.OpOverload:
    return getattr(getattr(torch.ops, _ops.NAMESPACE), name).default


def sparse_arguments(name: str) -> tuple[Any, ...]:
    case = sparse_logits.SparseCase(LogitsCase(5, 90, 8, 64, "fp4"), 4, 16)
    if "paged" in name:
        call = case.paged("cpu")
        if "metadata" in name:
            return call["lens"], call["table"], None, 64, call["blocks"], 16
        keys = (call["kv_cache"],)
    else:
        call = case.contiguous("cpu")
        if "metadata" in name:
            return call["starts"], call["ends"], 90, call["blocks"], 16
        keys = call["kv"]
    return (*call["q"], *keys, call["weights"], sparse_logits.metadata(call), 4, 16)


def arguments(name: str) -> tuple[Any, ...]:
    """Arguments of an operator: 5 queries of 8 heads over 90 keys, in FP4 where it takes it."""
    if "sparse" in name:
        return sparse_arguments(name)
    kind = "fp4" if "fp4" in name else "fp8"
    case = LogitsCase(5, 90, 8, 64, kind)
    q, (k, k_scale), weights, starts, ends = case.contiguous("cpu")
    scale = (q[1],) if "fp4" in name else ()
    if name == "get_mqa_logits_metadata":
        return starts, ends, 90, 8
    paged = case.paged("cpu")
    meta = deep_gemm.get_paged_mqa_logits_metadata(paged["context_lens"], 64, 4)
    if name == "get_paged_mqa_logits_metadata":
        return paged["context_lens"], 64, 4
    if "paged" in name:
        scale = (paged["q"][1],) if "fp4" in name else ()
        lens, table = paged["context_lens"], paged["block_table"]
        return (
            paged["q"][0], *scale, paged["kv_cache"], paged["weights"], lens, table, meta, 90
        )  # fmt: skip
    return (q[0], *scale, k, k_scale, weights, starts, ends)


@pytest.mark.parametrize("name", NAMES)
def test_opcheck(name: str) -> None:
    # Its schema test fails on any float8 operand; ours is below.
    checks = ["test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"]
    if "metadata" not in name and "sparse" not in name:
        checks = checks[:2]  # uninitialised columns differ from run to run
    torch.library.opcheck(operator(name), arguments(name), test_utils=checks)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_is_passed_changes(name: str) -> None:
    given = arguments(name)
    tensors = [x for x in given if isinstance(x, torch.Tensor)]
    before = [x.clone().view(torch.uint8) for x in tensors]
    schema = operator(name)._schema
    assert not any(a.alias_info for a in [*schema.arguments, *schema.returns])
    out = operator(name)(*given)
    assert all(out.data_ptr() != x.data_ptr() for x in tensors)
    for x, saved in zip(tensors, before, strict=True):
        assert torch.equal(x.view(torch.uint8), saved)


@pytest.mark.parametrize("name", NAMES)
def test_a_fake_has_the_sizes_and_strides_of_the_result(name: str) -> None:
    given = arguments(name)
    real = operator(name)(*given)
    with FakeTensorMode() as mode:
        fakes = [mode.from_tensor(x) if isinstance(x, torch.Tensor) else x for x in given]
        fake = operator(name)(*fakes)
    assert fake.shape == real.shape and fake.stride() == real.stride()
    assert fake.dtype == real.dtype and fake.device == real.device


def test_full_graph_over_five_lengths_recompiles_at_most_once() -> None:
    graphs = []

    def backend(module: torch.fx.GraphModule, inputs: list) -> object:
        graphs.append(module)
        return module.forward

    def score(q, k, k_scale, weights, starts, ends):
        logits = deep_gemm.fp8_mqa_logits(q, (k, k_scale), weights, starts, ends)
        return logits.argmax(-1)

    torch._dynamo.reset()
    compiled = torch.compile(score, fullgraph=True, dynamic=True, backend=backend)
    for seq in (5, 9, 16, 33, 64):
        (q, _), (k, scale), *rest = LogitsCase(seq, 50 + seq, 8, 64).contiguous("cpu")
        assert torch.equal(compiled(q, k, scale, *rest), score(q, k, scale, *rest))
    assert len(graphs) <= 2


@pytest.mark.parametrize("paged", [False, True], ids=["contiguous", "paged"])
def test_full_graph_of_sparse_logits_recompiles_at_most_once(paged: bool) -> None:
    graphs = []

    def backend(module: torch.fx.GraphModule, inputs: list) -> object:
        graphs.append(module)
        return module.forward

    def score(call: dict[str, Any]) -> torch.Tensor:
        return sparse_logits.run(call).float().argmax(-1)

    torch._dynamo.reset()
    compiled = torch.compile(score, fullgraph=True, dynamic=True, backend=backend)
    for seq in (5, 9, 16, 33, 64):
        case = sparse_logits.SparseCase(LogitsCase(seq, 50 + seq, 8, 64, "fp4"), 4, 16)
        call = case.paged("cpu") if paged else case.contiguous("cpu")
        assert torch.equal(compiled(call), score(call))
    assert len(graphs) <= 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("paged", [False, True], ids=["contiguous", "paged"])
def test_sparse_logits_without_a_compiler_are_the_same(kind: str, paged: bool) -> None:
    case = sparse_logits.SparseCase(LogitsCase(7, 190, 8, 64, kind), 8, 16, unaligned=not paged)
    call = case.paged("cpu") if paged else case.contiguous("cpu")
    meta = sparse_logits.metadata(call)
    again, got = torch.empty_like(meta), torch.empty(7, 128)
    if paged:
        keys = call["kv_cache"].size(1) * call["table"].size(1)
        ranges = None, call["lens"], call["table"], call["blocks"], again, keys, 64, 16, False
        operands = *call["q"], call["kv_cache"], None
    else:
        ranges = call["starts"], call["ends"], None, call["blocks"], again, 190, 0, 16, True
        operands = *call["q"], *call["kv"]
    _fakes_sparse._reference_sparse_schedule(*ranges)
    assert torch.equal(again, meta)
    _fakes_sparse._reference_sparse_mqa_logits(*operands, call["weights"], meta, got, 16)
    want = sparse_logits.expected(call)
    inside = want != -torch.inf
    assert torch.equal(got == -torch.inf, ~inside)
    assert torch.allclose(got[inside].double(), want[inside], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"block": 32}, "SPARSE_BLOCK"),
        ({"blocks": torch.zeros(5, 6, dtype=torch.int32)}, "SPARSE_COUNT"),
        ({"blocks": torch.zeros(5, 4)}, "LOGITS_INT32"),
        ({"starts": torch.zeros(4, dtype=torch.int32)}, "LOGITS_SHAPE"),
    ],
    ids=["block", "count", "dtype", "rows"],
)
def test_a_wrong_choice_of_blocks_is_refused_by_rule(change: dict[str, Any], rule: str) -> None:
    call = sparse_logits.SparseCase(LogitsCase(5, 90, 8, 64, "fp4"), 4, 16).contiguous("cpu")
    with pytest.raises(errors.InvalidArgument, match=rule) as caught:
        sparse_logits.metadata(call | change)
    assert "Fix: " in str(caught.value)


def test_support_of_metadata_is_answered_like_the_call() -> None:
    lengths = torch.ones(5, 1, dtype=torch.int32)
    name = "get_paged_mqa_logits_metadata"
    assert deep_gemm.supports(name, lengths, 64, 4) == (True, "")
    ok, why = deep_gemm.supports(name, lengths.flatten(), 64, 4)
    assert not ok and "LOGITS_RANK" in why
    flat = lengths.flatten()
    assert deep_gemm.supports("get_mqa_logits_metadata", flat, flat, 64, 8) == (True, "")
    blocks = torch.zeros(5, 4, dtype=torch.int32)
    name = "get_sparse_mqa_logits_metadata"
    call = flat, flat, 64, blocks
    for arch in (None, "80", "90a", "x86-64-v3"):
        assert deep_gemm.supports(name, *call, torch.int8, 16, arch=arch) == (True, "")
    for dtype, block, rule in [(torch.int8, 32, "SPARSE_BLOCK"), (torch.half, 16, "LOGITS_DTYPE")]:
        ok, why = deep_gemm.supports(name, *call, dtype, block)
        assert not ok and rule in why
    name = "get_paged_sparse_mqa_logits_metadata"
    assert deep_gemm.supports(name, lengths, blocks, None, 64, blocks, torch.int8, 16)[0]


def test_metadata_of_another_call_is_refused() -> None:
    call = sparse_logits.SparseCase(LogitsCase(5, 90, 8, 64, "fp4"), 4, 16).contiguous("cpu")
    with pytest.raises(errors.InvalidArgument, match="SPARSE_METADATA"):
        sparse_logits.run(call, sparse_logits.metadata(call)[:-8])
    with pytest.raises(errors.InvalidArgument, match="LOGITS_DTYPE"):
        deep_gemm.get_sparse_mqa_logits_metadata(
            call["starts"], call["ends"], 90, call["blocks"], torch.bfloat16, 16
        )
    ok, why = deep_gemm.supports(
        "fp8_fp4_sparse_mqa_logits", call["q"], call["kv"], call["weights"],
        sparse_logits.metadata(call), 8, 16,
    )  # fmt: skip
    assert not ok and "SPARSE_METADATA" in why


@pytest.mark.parametrize("kind", KINDS)
def test_the_way_out_without_a_compiler_gives_the_same_logits(kind: str) -> None:
    case = LogitsCase(5, 90, 8, 64, kind)
    call = case.contiguous("cpu")
    (q, q_scale), (k, k_scale), *rest = call
    want = expected(call)
    logits = torch.empty(5, 90)
    _fakes_logits._reference_mqa_logits(q, q_scale, k, k_scale, *rest, logits, False, True)
    assert torch.equal(logits == -torch.inf, want == -torch.inf)
    inside = want != -torch.inf
    assert torch.allclose(logits[inside].double(), want[inside], rtol=1e-4, atol=1e-4)
    packed = torch.empty(5, 60)
    _fakes_logits._reference_mqa_logits(q, q_scale, k, k_scale, *rest, packed, True, False)
    for row, (start, end) in enumerate(zip(*(x.tolist() for x in rest[1:]), strict=True)):
        assert torch.equal(packed[row, : end - start], logits[row, start:end])
    paged = case.paged("cpu")
    want = expected_paged(paged)
    logits = torch.empty(5, 90)
    _fakes_logits._reference_paged_mqa_logits(
        *paged["q"], *[paged[x] for x in ("kv_cache", "weights", "context_lens", "block_table")],
        logits,
    )  # fmt: skip
    inside = want != -torch.inf
    assert torch.allclose(logits[inside].double(), want[inside], rtol=1e-4, atol=1e-4)
    assert torch.equal(run_paged(paged).isfinite()[inside], torch.ones(int(inside.sum())).bool())


@pytest.mark.parametrize("slots", [1, 4, 132])
def test_the_schedule_of_the_reference_is_the_kernel_s(slots: int) -> None:
    lengths = torch.randint(0, 500, (37, 2), generator=LogitsCase(37, 2, 1).generator())
    lengths = lengths.sort(1)[0].int()
    lengths[3:6] = 0
    want = deep_gemm.get_paged_mqa_logits_metadata(lengths, 64, slots)
    got = torch.empty_like(want)
    _fakes_logits._reference_logits_schedule(lengths, got)
    assert torch.equal(got, want)


def wrong_calls() -> dict[str, tuple[str, str, dict[str, Any]]]:
    (q, _), (k, scale), weights, starts, ends = LogitsCase(5, 90, 8, 64).contiguous("cpu")
    call = {"q": q, "kv": (k, scale), "weights": weights}
    call |= {"cu_seq_len_k_start": starts, "cu_seq_len_k_end": ends}
    return {
        "q-dtype": ("q", "LOGITS_DTYPE", call | {"q": q.float()}),
        "q-rank": ("q", "LOGITS_RANK", call | {"q": q[0]}),
        "kv-dim": ("kv", "LOGITS_SHAPE", call | {"kv": (k[:, :32], scale)}),
        "kv-scale": ("kv_scale", "LOGITS_SHAPE", call | {"kv": (k, scale[:3])}),
        "weights": ("weights", "LOGITS_WEIGHTS", call | {"weights": weights.half()}),
        "ends": ("cu_seq_len_k_end", "LOGITS_INT32", call | {"cu_seq_len_k_end": ends.long()}),
        "clean": ("clean_logits", "LOGITS_CLEAN", call | {"max_seqlen_k": 9}),
    }


@pytest.mark.parametrize("name", wrong_calls())
def test_a_wrong_call_names_op_argument_given_rule_and_fix(name: str) -> None:
    argument, rule, call = wrong_calls()[name]
    with pytest.raises((errors.InvalidArgument, errors.Unsupported)) as caught:
        deep_gemm.fp8_mqa_logits(**call)
    text = str(caught.value)
    assert re.match(rf"deep_gemm\.fp8_mqa_logits: {argument}: given \S", text), text
    assert f"\n  Rule {rule}: " in text and "\n  Fix: " in text, text


def test_a_bare_key_tensor_is_a_type_error() -> None:
    (q, _), (k, _), *rest = LogitsCase(5, 90, 8, 64).contiguous("cpu")
    with pytest.raises(TypeError, match="SCALED_PAIR"):
        deep_gemm.fp8_mqa_logits(q, k, *rest)
    with pytest.raises(errors.InvalidArgument, match="LOGITS_OUTPUT"):
        deep_gemm.fp8_fp4_mqa_logits((q, None), (k, k), *rest, logits_dtype=torch.float16)


def test_paged_logits_refuse_cleaning_and_flat_lengths() -> None:
    paged = LogitsCase(5, 90, 8, 64).paged("cpu")
    with pytest.raises(errors.InvalidArgument, match="LOGITS_CLEAN"):
        run_paged(paged, clean_logits=True)
    with pytest.raises(errors.InvalidArgument, match="LOGITS_RANK"):
        deep_gemm.get_paged_mqa_logits_metadata(paged["context_lens"].flatten(), 64, 4)
