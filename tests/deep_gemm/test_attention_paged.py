"""Indexer logits over pages, their schedule, and launches on a GPU, against the reference."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import deep_gemm
from deep_gemm.testing import assert_bitwise_equal
from tests.support.logits import (
    KINDS,
    LogitsCase,
    assert_logits_close,
    expected,
    expected_paged,
    run_paged,
)

NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU that torch can use")
DEVICES = ["cpu", pytest.param("cuda", marks=NO_GPU)]
on_every_device = pytest.mark.parametrize("device", DEVICES)

PAGED = [
    LogitsCase(*sizes, kind=kind, next_n=next_n, page=page)
    for kind, sizes, next_n, page in [
        ("fp8", (1, 1, 32, 128), 1, 64),
        ("fp8", (5, 300, 64, 128), 1, 64),
        ("fp8", (70, 700, 64, 128), 1, 64),
        ("fp8", (33, 1000, 32, 128), 2, 64),
        ("fp8", (40, 600, 64, 128), 3, 64),
        ("fp8", (40, 600, 64, 128), 4, 32),
        ("fp8", (40, 600, 16, 64), 2, 16),
        ("fp8", (40, 600, 32, 32), 4, 128),
        ("fp8", (20, 1500, 64, 128), 1, 256),
        ("fp8", (9, 333, 7, 96), 5, 2),
        ("fp8-mx", (9, 333, 32, 128), 2, 64),
        ("fp4", (9, 333, 64, 128), 1, 64),
        ("fp4", (4, 90, 3, 32), 4, 16),
    ]
]


@on_every_device
@pytest.mark.parametrize("case", PAGED, ids=str)
def test_paged_logits_match_the_reference(case: LogitsCase, device: str) -> None:
    arguments = case.paged(device)
    got = run_paged(arguments)
    assert got.shape == (case.seq * case.next_n, case.keys)
    assert got.stride(0) == -(-case.keys // 256) * 256
    assert_logits_close(got, expected_paged(arguments), case)
    half = run_paged(arguments, logits_dtype=torch.bfloat16)
    assert_logits_close(half, expected_paged(arguments), case)


# Many tiles a block where nine SMs share them: more than a warp looks up at a time, odd too.
LONG = [
    LogitsCase(33, 8191, 64, next_n=1, page=64),
    LogitsCase(17, 9999, 64, next_n=2, page=64),
    LogitsCase(9, 12345, 32, next_n=4, page=32),
    LogitsCase(11, 7777, 64, next_n=3, page=16),
]


@NO_GPU
@pytest.mark.parametrize("case", LONG, ids=str)
def test_long_paged_calls_match_the_reference(case: LogitsCase) -> None:
    arguments = case.paged("cuda")
    want = expected_paged(arguments)
    inside = want != -torch.inf
    try:
        for num_sms in (9, 132):
            deep_gemm.set_num_sms(num_sms)
            first = run_paged(arguments)
            assert_logits_close(first, want, f"{case}, {num_sms} SMs")
            for number in range(10):
                again = run_paged(arguments)
                assert_bitwise_equal(again[inside], first[inside], f"call {number}")
    finally:
        deep_gemm.set_num_sms(0)


@on_every_device
@pytest.mark.parametrize("case", PAGED[2:6], ids=str)
def test_paged_calls_repeat_bit_by_bit(case: LogitsCase, device: str) -> None:
    arguments = case.paged(device)
    inside = expected_paged(arguments) != -torch.inf
    first = run_paged(arguments)[inside]
    for number in range(20 if device == "cuda" else 3):
        assert_bitwise_equal(run_paged(arguments)[inside], first, f"call {number}")


@on_every_device
@pytest.mark.parametrize("case", PAGED[1:5], ids=str)
def test_zero_lengths_garbage_pages_and_strided_views(case: LogitsCase, device: str) -> None:
    lengths = torch.full((case.seq, case.next_n), case.keys)
    lengths[::2] = 0
    arguments = case.paged(device, lengths)
    want = expected_paged(arguments)
    table = arguments["block_table"]
    pages = -(-case.keys // case.page)
    table[:, pages:] = 2**30  # past the context
    table[::2] = -7  # of rows without keys
    holder = torch.full((case.seq, table.size(1) + 3), -1, dtype=torch.int32, device=device)
    holder[:, : table.size(1)] = table
    cache = arguments["kv_cache"]
    block = cache[0].numel()
    wide = torch.full((cache.size(0), block + 128), 0xFF, dtype=torch.uint8, device=device)
    wide[:, :block] = cache.view(cache.size(0), -1)
    arguments["block_table"] = holder[:, : table.size(1)]
    arguments["kv_cache"] = wide[:, :block].unflatten(1, cache.shape[1:])
    assert_logits_close(run_paged(arguments), want, case)
    arguments["context_lens"].zero_()
    assert run_paged(arguments).shape == want.shape


@on_every_device
@pytest.mark.parametrize("start", [4, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_a_cache_may_begin_at_any_multiple_of_four_bytes(
    kind: str, start: int, device: str
) -> None:
    case = LogitsCase(30, 600, 32, kind=kind)
    arguments = case.paged(device)
    cache = arguments["kv_cache"]
    holder = torch.zeros(cache.numel() + start, dtype=torch.uint8, device=device)
    holder[start:] = cache.flatten()
    arguments["kv_cache"] = holder[start:].view(cache.shape)
    assert_logits_close(run_paged(arguments), expected_paged(arguments), case)


@on_every_device
def test_a_cache_without_blocks_is_refused_where_there_may_be_keys(device: str) -> None:
    arguments = LogitsCase(3, 100, 32).paged(device)
    arguments["kv_cache"] = arguments["kv_cache"][:0]
    with pytest.raises(deep_gemm.errors.InvalidArgument, match="LOGITS_BLOCKS"):
        run_paged(arguments)
    arguments["max_context_len"] = 0
    assert run_paged(arguments).shape == (3, 0)


@on_every_device
def test_short_names_and_the_eighth_argument(device: str) -> None:
    case = LogitsCase(6, 200, 32)
    a = case.paged(device)
    meta = deep_gemm.get_paged_mqa_logits_metadata(
        a["context_lens"], 64, deep_gemm.get_num_sms(), None
    )
    rest = (a["kv_cache"], a["weights"], a["context_lens"], a["block_table"], meta, 200)
    inside = expected_paged(a) != -torch.inf
    want = deep_gemm.fp8_fp4_paged_mqa_logits(a["q"], *rest)[inside]
    indices = torch.arange(6, dtype=torch.int32, device=device)
    assert torch.equal(deep_gemm.fp8_paged_mqa_logits(a["q"][0], *rest)[inside], want)
    assert torch.equal(deep_gemm.fp8_fp4_paged_mqa_logits(a["q"], *rest, indices)[inside], want)
    assert torch.equal(deep_gemm.fp8_fp4_paged_mqa_logits(a["q"], *rest, None)[inside], want)
    got = deep_gemm.fp8_fp4_paged_mqa_logits(a["q"], *rest, False, torch.float32, indices)
    assert torch.equal(got[inside], want)


def walk(schedule: torch.Tensor, lengths: torch.Tensor) -> list[int]:
    """Tiles of 64 keys of each slot, by the definition: equal shares in order."""
    tiles = [max(-(-length // 64), 0) for length in lengths[:, -1].tolist()]
    before = [sum(tiles[:i]) for i in range(len(tiles) + 1)]
    starts = [before[request] + tile for request, tile in schedule.tolist()]
    assert starts[0] == 0 and starts[-1] == before[-1]
    return [b - a for a, b in pairwise(starts)]


@on_every_device
@pytest.mark.parametrize("block_kv", [2, 16, 32, 64, 256])
@pytest.mark.parametrize("num_sms", [1, 7, 132])
def test_a_schedule_shares_all_keys_equally(num_sms: int, block_kv: int, device: str) -> None:
    for batch in (1, 3, 2500):
        lengths = torch.randint(0, 3000, (batch, 2), generator=LogitsCase(batch, 1, 1).generator())
        lengths = lengths.sort(1)[0].int().to(device)
        schedule = deep_gemm.get_paged_mqa_logits_metadata(lengths, block_kv, num_sms)
        assert schedule.shape == (num_sms + 1, 2) and schedule.dtype == torch.int32
        shares = walk(schedule, lengths)
        assert max(shares) - min(shares) <= 1
    nothing = torch.zeros(4, 1, dtype=torch.int32, device=device)
    schedule = deep_gemm.get_paged_mqa_logits_metadata(nothing, 64, num_sms)
    assert schedule.tolist() == [[4, 0]] * (num_sms + 1)


@settings(deadline=None, max_examples=15)
@given(
    seq=st.integers(1, 6),
    keys=st.integers(1, 200),
    next_n=st.integers(1, 5),
    page=st.sampled_from([1, 2, 16, 48, 64, 100]),
    kind=st.sampled_from(KINDS),
)
def test_any_paging_matches_the_reference(
    seq: int, keys: int, next_n: int, page: int, kind: str
) -> None:
    case = LogitsCase(seq, keys, 6, 64, kind, next_n, page)
    arguments = case.paged("cpu")
    assert_logits_close(run_paged(arguments), expected_paged(arguments), case)


@NO_GPU
def test_odd_and_halved_numbers_of_sms() -> None:
    case = LogitsCase(40, 900, 64, next_n=4)
    arguments = case.paged("cuda")
    want = expected_paged(arguments)
    lengths = arguments["context_lens"]
    try:
        for num_sms, slots in [(131, 131), (1, 1), (132, 66), (132, 132)]:
            deep_gemm.set_num_sms(num_sms)
            meta = deep_gemm.get_paged_mqa_logits_metadata(lengths, 64, slots)
            got = deep_gemm.fp8_fp4_paged_mqa_logits(**arguments, schedule_meta=meta)
            assert_logits_close(got, want, f"{num_sms} SMs, {slots} slots")
            contiguous = LogitsCase(130, 1000, 64).contiguous("cuda")
            dense = deep_gemm.fp8_fp4_mqa_logits(*contiguous)
            assert_logits_close(dense, expected(contiguous), f"{num_sms} SMs")
        meta = deep_gemm.get_paged_mqa_logits_metadata(lengths, 64, 100)
        with pytest.raises(deep_gemm.errors.InvalidArgument, match="LOGITS_SCHEDULE"):
            deep_gemm.fp8_fp4_paged_mqa_logits(**arguments, schedule_meta=meta)
    finally:
        deep_gemm.set_num_sms(0)


@NO_GPU
@pytest.mark.parametrize("kind", ["fp8", "fp4"])
def test_a_replayed_graph_follows_lengths_changed_in_place(kind: str) -> None:
    case = LogitsCase(50, 800, 64, kind=kind)
    arguments = case.paged("cuda")
    run_paged(arguments)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = run_paged(arguments)
    for seed in range(3):
        generator = torch.Generator().manual_seed(seed)
        lengths = torch.randint(0, 801, (50, 1), generator=generator, dtype=torch.int32)
        arguments["context_lens"].copy_(lengths)
        got.fill_(float("nan"))
        graph.replay()
        want = expected_paged(arguments)
        assert_logits_close(got, want, f"replay {seed}")


@NO_GPU
def test_dependent_launches_give_the_same_bits() -> None:
    case = LogitsCase(130, 1000, 64)
    arguments = case.contiguous("cuda")
    first = deep_gemm.fp8_fp4_mqa_logits(*arguments)
    deep_gemm.set_pdl(True)
    try:
        for _ in range(5):
            again = deep_gemm.fp8_fp4_mqa_logits(*arguments)
        assert_bitwise_equal(again.contiguous(), first.contiguous(), "pdl")
        paged = LogitsCase(70, 700, 64).paged("cuda")
        for _ in range(5):
            got = run_paged(paged)
        assert_logits_close(got, expected_paged(paged), "paged pdl")
    finally:
        deep_gemm.set_pdl(False)
