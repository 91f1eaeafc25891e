"""Indexer logits over contiguous keys against the float64 reference: every format, every edge."""

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
    quantised,
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


def test_quantised_operands_are_what_the_reference_reads() -> None:
    x = torch.randn(5, 3, 64, generator=LogitsCase(5, 3, 64).generator())
    for kind in ("fp8-mx", "fp4"):
        data, scale = quantised(x, kind)
        assert scale.shape == (5, 3) and scale.dtype == torch.int32
        assert data.size(-1) == (32 if kind == "fp4" else 64)
