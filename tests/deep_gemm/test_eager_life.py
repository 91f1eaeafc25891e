"""The eager shortcut over time: nothing leaks, Python goes on meanwhile, threads do not meet."""

from __future__ import annotations

import gc
import resource
import sys
import threading
import time
import weakref
from typing import Any

import pytest
import torch

import deep_gemm
from deep_gemm import _eager, _ops
from tests.support.operator_calls import OperatorCall, operator_call

CALLS = 100_000
# One of each way through the extension: pairs, lists of groups, sizes on the host, text, results.
NAMES = [
    "bf16_gemm_nt",
    "einsum",
    "fp8_gemm_nt",
    "fp8_mqa_logits",
    "fp8_paged_mqa_logits",
    "get_paged_mqa_logits_metadata",
    "k_grouped_bf16_gemm_tn_contiguous",
    "m_grouped_fp8_gemm_nt_masked",
    "tf32_hc_prenorm_gemm",
]


def prepared(name: str, rows: int = 1) -> OperatorCall:
    call = operator_call(name, rows=rows)
    _ops.op(name)(*call.arguments)
    return call


def owned(arguments: list[Any]) -> list[int]:
    """References to the arguments, the library's own functions and the constants."""
    shared = [None, True, False, NotImplemented, torch.Tensor, torch.float32]
    return [sys.getrefcount(x) for x in [*arguments, *shared]]


def grown(index: int, arguments: list[Any], calls: int) -> tuple[list[int], int, int]:
    """By how much references, blocks of Python and the process itself grow over some calls."""
    for _ in range(100):
        _eager.launch(index, *arguments)
    gc.collect()
    before = owned(arguments), sys.getallocatedblocks(), resident()
    for _ in range(calls):
        _eager.launch(index, *arguments)
    gc.collect()
    after = owned(arguments), sys.getallocatedblocks(), resident()
    references = [y - x for x, y in zip(before[0], after[0], strict=True)]
    return references, after[1] - before[1], after[2] - before[2]


def resident() -> int:
    """The most memory this process ever had, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.parametrize("name", NAMES)
def test_a_hundred_thousand_warm_calls_leave_nothing_behind(name: str) -> None:
    call = prepared(name)
    index = _eager.index_of(name)
    assert _eager.launch(index, *call.arguments) is not NotImplemented
    references, blocks, kib = grown(index, call.arguments, CALLS)
    assert max(map(abs, references)) < 100, references  # others in the process come and go
    assert abs(blocks) < 500 and kib < 4096


@pytest.mark.parametrize("name", NAMES)
def test_stepping_aside_leaves_nothing_behind(name: str) -> None:
    call = prepared(name)
    index = _eager.index_of(name)
    strange = [
        [*call.arguments[:-1], object()],
        operator_call(name, rows=77).arguments,
        [1 << 80 if isinstance(x, int) else x for x in call.arguments],
        [x.double() if isinstance(x, torch.Tensor) else x for x in call.arguments],
    ]
    strange = [x for x in strange if _eager.launch(index, *x) is NotImplemented]
    assert len(strange) >= 2
    for arguments in strange:
        references, blocks, kib = grown(index, arguments, CALLS // 10)
        assert max(map(abs, references)) < 100, references
        assert abs(blocks) < 500 and kib < 4096


def test_tuples_are_taken_apart_only_where_they_belong() -> None:
    a, a_scale, b, b_scale, *rest = prepared("fp8_gemm_nt").arguments
    call = _eager.operator("fp8_gemm_nt", {0: "a", 1: "b"})
    assert call((a, a_scale), (b, b_scale), *rest) is None
    with pytest.raises(TypeError, match="SCALED_PAIR"):
        call((a, a_scale, b), (b_scale,), *rest)
    with pytest.raises(RuntimeError, match="to Tensor"):
        call((a, a_scale), (b, b_scale), (rest[0],), *rest[1:])


def test_a_result_belongs_to_its_caller_alone() -> None:
    call = prepared("fp8_mqa_logits")
    index = _eager.index_of(call.name)
    one, two = (_eager.launch(index, *call.arguments) for _ in range(2))
    assert one.data_ptr() != two.data_ptr()
    watched = weakref.ref(one)
    del one
    assert watched() is None


def test_python_goes_on_while_a_kernel_runs_on_the_host() -> None:
    a, b = (torch.randn(1024, 2048).bfloat16() for _ in range(2))
    d = torch.empty(1024, 1024)
    deep_gemm.bf16_gemm_nt(a, b, d)
    index = _eager.index_of("bf16_gemm_nt")
    ticks: list[float] = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        for _ in range(50):
            start = time.monotonic()
            assert _eager.launch(index, a, b, d, None, None) is None
            end = time.monotonic()
            quarter = (end - start) / 4
            # In the middle: the interpreter may switch at both ends anyway.
            if any(start + quarter < x < end - quarter for x in ticks):
                return
    finally:
        stop.set()
        thread.join()
    pytest.fail("no other thread ran during any of 50 calls")


def test_threads_get_their_own_results() -> None:
    calls = [prepared(name, rows) for name in NAMES for rows in (1, 3)]
    want = []
    for call in calls:
        result = _ops.op(call.name)(*call.arguments)
        want.append([x.clone() for x in (*call.outputs(), *([] if result is None else [result]))])
    wrong: list[str] = []

    def work(call: OperatorCall, expected: list[torch.Tensor]) -> None:
        index = _eager.index_of(call.name)
        for _ in range(200):
            call.spoil()
            result = _eager.launch(index, *call.arguments)
            got = [*call.outputs(), *([] if result is None else [result])]
            if not all(torch.equal(x, y) for x, y in zip(got, expected, strict=True)):
                wrong.append(call.name)

    threads = [
        threading.Thread(target=work, args=pair) for pair in zip(calls, want, strict=True)
    ]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", NAMES)
def test_a_graph_captures_it_and_replays_new_data(name: str) -> None:
    call = operator_call(name, rows=3, device="cuda")
    _ops.op(name)(*call.arguments)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = _eager.launch(_eager.index_of(name), *call.arguments)
    assert captured is not NotImplemented
    for x in call.arguments:
        if isinstance(x, torch.Tensor) and x.dtype == torch.bfloat16 and x.is_cuda:
            x.copy_(torch.randn_like(x))
    call.spoil()
    graph.replay()
    got = [x.clone() for x in (*call.outputs(), *([] if captured is None else [captured]))]
    result = _ops.op(name)(*call.arguments)
    want = [*call.outputs(), *([] if result is None else [result])]
    assert all(torch.equal(x, y) for x, y in zip(got, want, strict=True))
