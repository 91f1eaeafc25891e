"""Indexer logits over chosen blocks of keys against the float64 reference: formats and edges."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import deep_gemm
from deep_gemm.testing import assert_bitwise_equal
from tests.support.devices import DEVICES, NEEDS_CUDA
from tests.support.logits import KINDS, LogitsCase, assert_logits_close
from tests.support.sparse_logits import SparseCase, expected, metadata, run

on_every_device = pytest.mark.parametrize("device", DEVICES)

CASES = [
    SparseCase(LogitsCase(*sizes, kind=kind), num_blocks, block, unaligned)
    for kind in KINDS
    for sizes, num_blocks, block, unaligned in [
        ((1, 9, 4, 128), 4, 8, False),
        ((23, 700, 32, 128), 12, 16, True),
        ((9, 300, 12, 64), 20, 8, False),
        ((5, 2000, 24, 96), 64, 16, False),
    ]
] + [SparseCase(LogitsCase(7, 513, 100, 32, "fp8-mx"), 16, 16, True)]

PAGED = [
    SparseCase(LogitsCase(9, 400, heads, 128, kind, page=page), num_blocks, block)
    for kind in KINDS
    for heads, page, num_blocks, block in [(32, 64, 12, 16), (4, 32, 32, 8), (20, 128, 8, 16)]
]


def assert_right(call: dict[str, Any], case: SparseCase) -> None:
    got, want = run(call), expected(call)
    assert got.dtype == torch.bfloat16 and got.shape == want.shape
    assert torch.equal(got == -torch.inf, want == -torch.inf)
    assert_logits_close(got, want, case)


@on_every_device
@pytest.mark.parametrize("case", CASES, ids=str)
def test_logits_match_the_reference_and_are_minus_infinity_elsewhere(
    case: SparseCase, device: str
) -> None:
    assert_right(case.contiguous(device), case)


@on_every_device
@pytest.mark.parametrize("case", PAGED, ids=str)
def test_paged_logits_match_the_reference(case: SparseCase, device: str) -> None:
    assert_right(case.paged(device), case)


@on_every_device
@pytest.mark.parametrize("case", CASES[1::4], ids=str)
def test_bfloat16_weights(case: SparseCase, device: str) -> None:
    call = case.contiguous(device)
    assert_right(call | {"weights": call["weights"].bfloat16()}, case)


@on_every_device
@pytest.mark.parametrize("case", CASES[1::4], ids=str)
def test_sparse_logits_are_bits_of_all_logits(case: SparseCase, device: str) -> None:
    call = case.contiguous(device)
    whole = deep_gemm.fp8_fp4_mqa_logits(
        call["q"], call["kv"], call["weights"].bfloat16(), call["starts"], call["ends"]
    )
    got = run(call | {"weights": call["weights"].bfloat16()})
    for row, start in enumerate(call["starts"].tolist()):
        shift = start % case.block if case.unaligned else 0
        offset = torch.arange(case.block, device=device) + shift
        tokens = (call["blocks"][row].long().unsqueeze(1) * case.block + offset).flatten()
        seen = got[row] != -torch.inf
        assert torch.equal(got[row, seen], whole[row, tokens[seen]])


@on_every_device
@pytest.mark.parametrize("case", [CASES[1], CASES[9]], ids=str)
def test_twenty_calls_give_the_same_bits(case: SparseCase, device: str) -> None:
    call = case.contiguous(device)
    meta = metadata(call)
    first = run(call, meta).contiguous()
    for number in range(20):
        assert_bitwise_equal(run(call, meta).contiguous(), first, f"call {number}")
        assert torch.equal(metadata(call), meta)


@on_every_device
def test_rows_are_a_multiple_of_512_elements_apart(device: str) -> None:
    got = run(CASES[1].contiguous(device))
    assert got.shape == (23, 192) and got.stride() == (512, 1)


@on_every_device
@pytest.mark.parametrize("block", [8, 16])
def test_ids_outside_the_range_reach_no_memory(block: int, device: str) -> None:
    case = SparseCase(LogitsCase(6, 200, 8, kind="fp4"), 8, block)
    call = case.contiguous(device)
    call["blocks"] = torch.full_like(call["blocks"], 0x7FFFFFFF)
    call["blocks"][::2] = -0x80000000
    assert bool((run(call) == -torch.inf).all())
    paged = SparseCase(LogitsCase(6, 200, 8, kind="fp4"), 8, block).paged(device)
    paged["table"] = torch.full_like(paged["table"], 1 << 30)
    paged["blocks"] = torch.full_like(paged["blocks"], 1 << 20)
    assert bool((run(paged) == -torch.inf).all())


@on_every_device
def test_ranges_past_the_keys_are_cut(device: str) -> None:
    case = SparseCase(LogitsCase(11, 130, 16, kind="fp8-mx"), 16, 8)
    call = case.contiguous(device)
    call["ends"] = call["ends"] + 10_000
    call["blocks"] = torch.arange(16, dtype=torch.int32, device=device).repeat(11, 1)
    call["starts"] = torch.zeros_like(call["starts"])
    assert_right(call, case)


@on_every_device
@pytest.mark.parametrize("seq", [0, 4])
def test_empty_calls_and_no_keys(seq: int, device: str) -> None:
    call = SparseCase(LogitsCase(seq, 0, 16, kind="fp8-mx"), 4, 16).contiguous(device)
    got = run(call)
    assert got.shape == (seq, 64) and bool((got == -torch.inf).all())


@on_every_device
def test_zero_lengths_and_a_strided_table(device: str) -> None:
    case = SparseCase(LogitsCase(8, 300, 16, kind="fp4"), 12, 16)
    call = case.paged(device)
    wide = torch.full((8, 2 * call["table"].size(1)), -1, dtype=torch.int32, device=device)
    wide[:, : call["table"].size(1)] = call["table"]
    want = run(call)
    assert_bitwise_equal(run(call | {"table": wide[:, : call["table"].size(1)]}), want, "strided")
    call["lens"] = torch.zeros_like(call["lens"])
    assert bool((run(call) == -torch.inf).all())


@on_every_device
def test_queries_of_a_batch_and_lengths_of_two_dimensions(device: str) -> None:
    call = SparseCase(LogitsCase(6, 200, 8, kind="fp4"), 8, 16).paged(device)
    want = run(call)
    meta = deep_gemm.get_paged_sparse_mqa_logits_metadata(
        call["lens"].view(6, 1), call["table"], None, 64, call["blocks"], torch.int8, 16
    )
    q = tuple(x.view(3, 2, *x.shape[1:]) for x in call["q"])
    got = deep_gemm.fp8_fp4_paged_sparse_mqa_logits(
        q, call["kv_cache"], call["weights"], meta, 8, 16
    )
    assert_bitwise_equal(got, want, "batch")


@on_every_device
def test_a_nan_key_spoils_its_columns_alone(device: str) -> None:
    call = SparseCase(LogitsCase(6, 64, 8, kind="fp8-mx"), 8, 8).contiguous(device)
    call["starts"], call["ends"] = call["starts"] * 0, call["ends"] * 0 + 64
    call["blocks"] = torch.arange(8, dtype=torch.int32, device=device).repeat(6, 1)
    k = call["kv"][0].clone()
    k[21, 3] = float("nan")
    finite = run(call | {"kv": (k, call["kv"][1])}).isfinite()
    assert not bool(finite[:, 21].any())
    finite[:, 21] = True
    assert bool(finite.all())


@settings(deadline=None, max_examples=25)
@given(
    seq=st.integers(0, 20),
    keys=st.integers(0, 300),
    heads=st.integers(1, 40),
    dim=st.sampled_from([32, 64, 96, 128]),
    kind=st.sampled_from(KINDS),
    num_blocks=st.sampled_from([4, 8, 44]),
    block=st.sampled_from([8, 16]),
    unaligned=st.booleans(),
)
def test_any_size_matches_the_reference(
    seq: int,
    keys: int,
    heads: int,
    dim: int,
    kind: str,
    num_blocks: int,
    block: int,
    unaligned: bool,
) -> None:
    case = SparseCase(LogitsCase(seq, keys, heads, dim, kind), num_blocks, block, unaligned)
    assert_right(case.contiguous("cpu"), case)


@NEEDS_CUDA
@pytest.mark.parametrize("paged", [False, True], ids=["contiguous", "paged"])
def test_a_captured_call_follows_new_choices_and_new_data(paged: bool) -> None:
    case = SparseCase(LogitsCase(9, 400, 32, kind="fp4"), 12, 16)
    call = case.paged("cuda") if paged else case.contiguous("cuda")
    run(call)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = run(call)
    ranges = call["lens" if paged else "ends"]
    for number in range(100):
        call["blocks"].copy_(call["blocks"].roll(1, 0))
        ranges.copy_(ranges.roll(1))
        call["weights"].normal_()
        graph.replay()
        assert_bitwise_equal(got.contiguous(), run(call).contiguous(), f"replay {number}")


@NEEDS_CUDA
def test_more_than_2_to_the_31_bytes_of_keys() -> None:
    keys = (1 << 31) // 128 + 1000
    q = torch.randn(2, 32, 128, device="cuda").to(torch.float8_e4m3fn)
    k = torch.zeros(keys, 128, device="cuda", dtype=torch.uint8).view(torch.float8_e4m3fn)
    k[-1] = 1.0
    scale = torch.ones(keys, device="cuda")
    ends = torch.full((2,), keys, dtype=torch.int32, device="cuda")
    last = (keys - 1) // 16
    blocks = torch.tensor([[0, last, -1, -1]] * 2, dtype=torch.int32, device="cuda")
    call = {"q": (q, None), "kv": (k, scale), "weights": torch.ones(2, 32, device="cuda")}
    call |= {"starts": ends * 0, "ends": ends, "blocks": blocks, "block": 16, "unaligned": False}
    got = run(call)
    want = q.float().sum(-1).relu().sum(-1)
    assert torch.allclose(got[:, 16 + (keys - 1) % 16].float(), want, rtol=1e-2)
