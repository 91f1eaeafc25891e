"""Indexer logits against the float64 reference: contiguous and paged, every format, every edge."""

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
    quantised,
    run_paged,
)

NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU that torch can use")
DEVICES = ["cpu", pytest.param("cuda", marks=NO_GPU)]
on_every_device = pytest.mark.parametrize("device", DEVICES)

CASES = [
    LogitsCase(*sizes, kind=kind)
    for kind in KINDS
    for sizes in [(1, 1, 1, 32), (7, 129, 5, 96), (33, 64, 128, 64), (37, 333, 32, 128)]
] + [
    # Large enough for the kernels that are made for Hopper.
    LogitsCase(130, 1000, 64),
    LogitsCase(129, 777, 32),
    LogitsCase(67, 513, 16),
    LogitsCase(64, 1024, 32, 64),
    LogitsCase(50, 640, 64, 32),
    LogitsCase(40, 600, 8),
    LogitsCase(21, 2000, 128),
]


def call(case: LogitsCase, device: str, **more: object) -> tuple[torch.Tensor, tuple]:
    arguments = case.contiguous(device)
    return deep_gemm.fp8_fp4_mqa_logits(*arguments, **more), arguments


@on_every_device
@pytest.mark.parametrize("case", CASES, ids=str)
def test_logits_match_the_reference_and_are_minus_infinity_elsewhere(
    case: LogitsCase, device: str
) -> None:
    got, arguments = call(case, device)
    want = expected(arguments)
    assert got.shape == want.shape and got.dtype == torch.float32
    assert torch.equal(got == -torch.inf, want == -torch.inf)
    assert_logits_close(got, want, case)


@on_every_device
@pytest.mark.parametrize("case", CASES[3::2], ids=str)
def test_bfloat16_weights_and_logits(case: LogitsCase, device: str) -> None:
    q, kv, weights, *ranges = case.contiguous(device)
    arguments = (q, kv, weights.bfloat16(), *ranges)
    got = deep_gemm.fp8_fp4_mqa_logits(*arguments)
    assert got.dtype == torch.bfloat16
    want = expected(arguments)
    assert torch.equal(got == -torch.inf, want == -torch.inf)
    assert_logits_close(got, want, case)
    wide = deep_gemm.fp8_fp4_mqa_logits(*arguments, logits_dtype=torch.float32)
    assert wide.dtype == torch.float32
    assert_logits_close(wide, want, case)


@on_every_device
@pytest.mark.parametrize("case", CASES[2:], ids=str)
def test_bfloat16_logits_of_float32_weights_are_the_rounded_ones(
    case: LogitsCase, device: str
) -> None:
    wide, arguments = call(case, device)
    narrow = deep_gemm.fp8_fp4_mqa_logits(*arguments, logits_dtype=torch.bfloat16)
    assert_bitwise_equal(narrow.contiguous(), wide.bfloat16().contiguous(), str(case))


@on_every_device
@pytest.mark.parametrize("case", CASES[1:], ids=str)
def test_compressed_logits_are_the_same_bits_moved_to_the_left(
    case: LogitsCase, device: str
) -> None:
    whole, arguments = call(case, device)
    starts, ends = arguments[3].tolist(), arguments[4].tolist()
    longest = max(end - start for start, end in zip(starts, ends, strict=True))
    packed = deep_gemm.fp8_fp4_mqa_logits(*arguments, longest + 3)
    assert packed.shape == (case.seq, longest + 3)
    for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
        assert torch.equal(packed[row, : end - start], whole[row, start:end])


@on_every_device
def test_logits_without_cleaning_are_right_inside_the_ranges(device: str) -> None:
    case = LogitsCase(130, 1000, 32)
    clean, arguments = call(case, device)
    rough = deep_gemm.fp8_fp4_mqa_logits(*arguments, clean_logits=False)
    inside = clean != -torch.inf
    assert torch.equal(rough[inside], clean[inside])


@on_every_device
@pytest.mark.parametrize("case", [LogitsCase(130, 1000, 64), LogitsCase(9, 200, 12)], ids=str)
def test_fifty_calls_give_the_same_bits(case: LogitsCase, device: str) -> None:
    first, arguments = call(case, device)
    for number in range(50 if device == "cuda" else 5):
        again = deep_gemm.fp8_fp4_mqa_logits(*arguments)
        assert_bitwise_equal(again.contiguous(), first.contiguous(), f"call {number}")


@on_every_device
def test_causal_ranges_and_all_empty_ranges(device: str) -> None:
    case = LogitsCase(300, 300, 32)
    q, kv, weights, *_ = case.contiguous(device)
    starts = torch.zeros(300, dtype=torch.int32, device=device)
    ends = torch.arange(1, 301, dtype=torch.int32, device=device)
    got = deep_gemm.fp8_mqa_logits(q[0], kv, weights, starts, ends)
    want = expected((q, kv, weights, starts, ends))
    assert torch.equal(got == -torch.inf, want == -torch.inf)
    assert_logits_close(got, want, "causal")
    assert bool((deep_gemm.fp8_mqa_logits(q[0], kv, weights, ends, ends) == -torch.inf).all())


@on_every_device
def test_ranges_past_the_keys_are_cut(device: str) -> None:
    case = LogitsCase(130, 500, 32)
    q, kv, weights, starts, ends = case.contiguous(device)
    ends = ends + 10_000
    got = deep_gemm.fp8_mqa_logits(q[0], kv, weights, starts, ends)
    assert_logits_close(got, expected((q, kv, weights, starts, ends)), case)


@on_every_device
@pytest.mark.parametrize("heads", [1, 2, 3, 4, 8, 16, 24, 32, 64, 100, 128])
def test_every_number_of_heads(heads: int, device: str) -> None:
    case = LogitsCase(17, 1100, heads)
    got, arguments = call(case, device)
    assert_logits_close(got, expected(arguments), case)


@on_every_device
def test_padded_rows_of_keys_and_weights(device: str) -> None:
    case = LogitsCase(130, 500, 32)
    q, (k, k_scale), weights, *ranges = case.contiguous(device)
    wide = torch.zeros(500, 160, device=device).to(torch.float8_e4m3fn)
    wide[:, :128] = k
    heavy = torch.full((130, 37), float("nan"), device=device)
    heavy[:, :32] = weights
    want = deep_gemm.fp8_mqa_logits(q[0], (k, k_scale), weights, *ranges)
    got = deep_gemm.fp8_mqa_logits(q[0], (wide[:, :128], k_scale), heavy[:, :32], *ranges)
    assert_bitwise_equal(got.contiguous(), want.contiguous(), "views")
    # Scales that begin at no multiple of 16 bytes.
    odd = torch.empty(501, device=device)[1:].copy_(k_scale)
    got = deep_gemm.fp8_mqa_logits(q[0], (k, odd), weights, *ranges)
    assert_logits_close(got, expected((q, (k, k_scale), weights, *ranges)), "odd scales")


@on_every_device
@pytest.mark.parametrize("kind", KINDS)
def test_a_nan_key_spoils_its_column_alone(kind: str, device: str) -> None:
    case = LogitsCase(20, 150, 32, kind=kind)
    q, (k, k_scale), weights, starts, ends = case.contiguous(device)
    starts, ends = torch.zeros_like(starts), torch.full_like(ends, 150)
    if kind == "fp4":
        k_scale = k_scale.clone()
        k_scale[70] = -1  # four exponents of 0xFF
    else:
        k = k.clone()
        k[70, 5] = float("nan")
    finite = deep_gemm.fp8_fp4_mqa_logits(q, (k, k_scale), weights, starts, ends).isfinite()
    assert not bool(finite[:, 70].any())
    finite[:, 70] = True
    assert bool(finite.all())


def test_rows_are_as_far_apart_as_callers_rely_on() -> None:
    case = LogitsCase(5, 300, 64)
    whole, arguments = call(case, "cpu")
    assert whole.stride() == (768, 1)  # 300 + 256, to 1024 bytes
    assert whole.untyped_storage().nbytes() == 6 * 768 * 4  # rows of 128 / 64 queries
    half = deep_gemm.fp8_fp4_mqa_logits(*arguments, logits_dtype=torch.bfloat16)
    assert half.stride() == (1024, 1)
    assert deep_gemm.fp8_fp4_mqa_logits(*arguments, 200).stride() == (256, 1)
    packed = deep_gemm.fp8_fp4_mqa_logits(*arguments, False, 200, torch.bfloat16)
    assert packed.stride() == (512, 1)


def test_the_sixth_argument_is_told_by_its_type() -> None:
    _, arguments = call(LogitsCase(5, 300, 4), "cpu")
    logits = deep_gemm.fp8_fp4_mqa_logits
    assert logits(*arguments, True).shape == (5, 300)
    assert logits(*arguments, False).shape == (5, 300)
    assert logits(*arguments, 160).shape == (5, 160)
    assert logits(*arguments, 160, None).shape == (5, 160)
    assert logits(*arguments, max_seqlen_k=160).shape == (5, 160)
    assert logits(*arguments, 1).shape == (5, 1)
    assert logits(*arguments, 0).shape == (5, 0)
    meta = deep_gemm.get_mqa_logits_metadata(arguments[3], arguments[4], 300, 4)
    assert meta.dtype == torch.int32 and meta.dim() == 1
    assert logits(*arguments, 160, meta).shape == (5, 160)
    with pytest.raises(deep_gemm.errors.InvalidArgument, match="LOGITS_CLEAN"):
        logits(*arguments, True, 160)


@on_every_device
@pytest.mark.parametrize(("seq", "keys"), [(0, 9), (9, 0), (0, 0)])
def test_empty_calls(seq: int, keys: int, device: str) -> None:
    case = LogitsCase(seq, keys, 32)
    got, _ = call(case, device)
    assert got.shape == (seq, keys)


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
    return [b - a for a, b in zip(starts, starts[1:], strict=False)]


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


@settings(deadline=None, max_examples=25)
@given(
    seq=st.integers(0, 40),
    keys=st.integers(0, 300),
    heads=st.integers(1, 20),
    dim=st.sampled_from([32, 64, 96, 128]),
    kind=st.sampled_from(KINDS),
)
def test_any_size_matches_the_reference(
    seq: int, keys: int, heads: int, dim: int, kind: str
) -> None:
    case = LogitsCase(seq, keys, heads, dim, kind)
    got, arguments = call(case, "cpu")
    want = expected(arguments)
    assert torch.equal(got == -torch.inf, want == -torch.inf)
    assert_logits_close(got, want, case)


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
            dense, contiguous = call(LogitsCase(130, 1000, 64), "cuda")
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
    first, arguments = call(case, "cuda")
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


def test_quantised_operands_are_what_the_reference_reads() -> None:
    x = torch.randn(5, 3, 64, generator=LogitsCase(5, 3, 64).generator())
    for kind in ("fp8-mx", "fp4"):
        data, scale = quantised(x, kind)
        assert scale.shape == (5, 3) and scale.dtype == torch.int32
        assert data.size(-1) == (32 if kind == "fp4" else 64)
