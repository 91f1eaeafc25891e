"""Cases that users reported and traps of the interface that no suite of an operator has, and the
table of all of them in docs/compatibility.md: each row names a test that is there.

Longer than usual: one short test a case.
"""

from __future__ import annotations

import re

import pytest
import torch

import deep_gemm
from deep_gemm import errors
from tests.support.cases import GemmCase, bf16_operands, poisoned
from tests.support.devices import DEVICES, NEEDS_CUDA
from tests.support.logits import LogitsCase, expected_paged, run_paged
from tools.checks import tree

ROOT = tree.root()
on_every_device = pytest.mark.parametrize("device", DEVICES)

Pair = tuple[torch.Tensor, torch.Tensor]


def fp8(seed: int, m: int, n: int, k: int, device: str) -> tuple[Pair, Pair]:
    g = torch.Generator(device=device).manual_seed(seed)
    x, w = (torch.randn(rows, k, generator=g, device=device) for rows in (m, n))
    a = deep_gemm.per_token_cast_to_fp8(x, use_ue8m0=False)
    return a, deep_gemm.per_block_cast_to_fp8(w, use_ue8m0=False)


def assert_rows(d: torch.Tensor, a: Pair, b: Pair, rows: slice) -> None:
    """These rows of d against float64."""
    lhs = deep_gemm.reference.dequantise(a[0][rows], a[1][rows], 1, 128)
    want = lhs @ deep_gemm.reference.dequantise(*b, 128, 128).t()
    assert deep_gemm.testing.calc_diff(d[rows], want) < 1e-4


@NEEDS_CUDA
@pytest.mark.parametrize(
    ("m", "n", "k"),
    [
        (7, 2112, 7168),
        (9, 2112, 7168),
        (7168, 2048, 128),
        (128, 7168, 1152),
        (32, 8192, 8192),
        (73728, 36864, 128),
    ],
)
def test_dense_sizes_that_were_reported(m: int, n: int, k: int) -> None:
    if torch.cuda.get_device_properties(0).total_memory < m * n * 8:
        pytest.skip("needs more device memory")
    a, b = fp8(1, m, n, k, "cuda")
    d = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
    deep_gemm.fp8_gemm_nt(a, b, d)
    for rows in (slice(0, 7), slice(max(m - 9, 0), m)):
        assert_rows(d, a, b, rows)


def test_every_m_from_1_to_300_needs_few_kernels_which_precompile_names() -> None:
    n, k = 2112, 7168
    known = {
        row["request"]
        for row in deep_gemm.precompile("fp8_gemm_nt", n, k, arch="90a", dry_run=True)["kernels"]
    }
    b = torch.empty(n, k, dtype=torch.float8_e4m3fn, device="meta")
    b_scale = torch.empty(-(-n // 128), k // 128, device="meta")
    sources = set()
    for m in range(1, 301):
        a = torch.empty(m, k, dtype=torch.float8_e4m3fn, device="meta")
        scale, d = torch.empty(m, k // 128, device="meta"), b.new_empty(m, n, dtype=torch.bfloat16)
        sources.add(
            deep_gemm.plan("fp8_gemm_nt", (a, scale), (b, b_scale), d, arch="90a")["source"]
        )
    assert len(sources) <= len(known) and len(sources) <= 16


@on_every_device
@pytest.mark.parametrize("mn", [7, 33, 130])
@pytest.mark.parametrize("groups", [1, 3])
def test_scale_transforms_of_odd_sizes(groups: int, mn: int, device: str) -> None:
    sf = torch.rand(groups, mn, 9, device=device)
    got = deep_gemm.get_mn_major_tma_aligned_tensor(sf)
    aligned = (mn + 3) // 4 * 4
    assert torch.equal(got, sf) and got.stride() == (aligned * 9, 1, aligned)


@on_every_device
def test_ones_with_a_scale_per_32_of_k(device: str) -> None:
    ones = torch.ones(4, 128, 8, device=device)
    packed = deep_gemm.get_mn_major_tma_aligned_packed_ue8m0_tensor(ones)
    assert packed.dtype == torch.int32 and packed.stride() == (256, 1, 128)
    assert packed.shape == (4, 128, 2) and bool((packed == 0x7F7F7F7F).all())
    same = deep_gemm.transform_sf_into_required_layout(packed, 128, 256, (1, 1, 32), 4, True)
    assert same.data_ptr() == packed.data_ptr() and same.stride() == packed.stride()
    wide = deep_gemm.transform_sf_into_required_layout(ones, 128, 256, (1, 1, 32), 4, True)
    plain = wide.dtype == torch.float32 and wide.stride() == (1024, 1, 128)
    assert plain or torch.equal(wide, packed)


@NEEDS_CUDA
@pytest.mark.parametrize("splits", [None, 4, 16])
def test_fifty_hyper_connections_have_the_same_bits_however_they_are_launched(
    splits: int | None,
) -> None:
    a = torch.randn(137, 7168, device="cuda").bfloat16()
    b = torch.randn(24, 7168, device="cuda")
    lead = () if splits is None else (splits,)
    side, first = torch.cuda.Stream(), None
    before = deep_gemm.get_pdl()
    try:
        for number in range(50):
            deep_gemm.set_pdl(number % 2 == 1)
            d, squares = (torch.empty(*lead, *s, device="cuda") for s in ((137, 24), (137,)))
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side if number % 3 == 2 else torch.cuda.current_stream()):
                deep_gemm.tf32_hc_prenorm_gemm(a, b, d, squares, splits)
            torch.cuda.synchronize()
            first = (d, squares) if first is None else first
            assert torch.equal(d, first[0]) and torch.equal(squares, first[1]), f"call {number}"
    finally:
        deep_gemm.set_pdl(before)
    want, _ = deep_gemm.reference.tf32_hc_prenorm_gemm(a, b)
    total = first[0] if splits is None else first[0].sum(0)
    assert deep_gemm.testing.calc_diff(total, want) < 1e-8


@on_every_device
@pytest.mark.parametrize("next_n", [1, 2, 3, 4])
def test_every_next_n_is_served_and_supports_says_so(next_n: int, device: str) -> None:
    call = LogitsCase(5, 200, 32, next_n=next_n).paged(device)
    got, want = run_paged(call), expected_paged(call)
    inside = want != -torch.inf
    assert deep_gemm.testing.calc_diff(got[inside], want[inside]) < 5e-6
    slots = deep_gemm.get_num_sms() if device == "cuda" else 4
    meta = deep_gemm.get_paged_mqa_logits_metadata(call["context_lens"], 64, slots)
    assert deep_gemm.supports("fp8_fp4_paged_mqa_logits", **call, schedule_meta=meta)[0]


@on_every_device
def test_other_output_types_are_refused_by_name(device: str) -> None:
    a, b = fp8(2, 8, 16, 128, device)
    x, w = (t.to(device) for t in bf16_operands(GemmCase(8, 16, 64)))
    d = torch.empty(8, 16, dtype=torch.float16, device=device)
    for call in (lambda: deep_gemm.fp8_gemm_nt(a, b, d), lambda: deep_gemm.bf16_gemm_nt(x, w, d)):
        with pytest.raises(errors.InvalidArgument, match="d is bfloat16 or float32"):
            call()


@NEEDS_CUDA
def test_scales_of_more_than_2_to_the_31_elements_are_moved() -> None:
    mn, columns = (1 << 24) + 3, 130
    if torch.cuda.get_device_properties(0).total_memory < 40 << 30:
        pytest.skip("needs 40 GB of device memory")
    sf = torch.zeros(mn, columns, device="cuda")
    sf[-1] = torch.arange(columns, device="cuda")
    got = deep_gemm.get_mn_major_tma_aligned_tensor(sf)
    assert got.stride() == (1, (mn + 3) // 4 * 4) and torch.equal(got[-1], sf[-1])


# ---- Traps of the interface ----


def test_the_published_default_is_a_cleaned_result() -> None:
    (q, _), kv, weights, starts, ends = LogitsCase(5, 90, 8, 64).contiguous("cpu")
    got = deep_gemm.fp8_mqa_logits(q, kv, weights, starts, ends)
    column = torch.arange(90)
    outside = (column < starts.unsqueeze(1)) | (column >= ends.unsqueeze(1))
    assert bool((got[outside] == -torch.inf).all()) and bool(got[~outside].isfinite().all())


def assert_same_product(got: torch.Tensor, want: torch.Tensor) -> None:
    """The same bits from one kernel; a GPU may have another for another way to say the call."""
    if got.is_cuda:
        assert deep_gemm.testing.calc_diff(got, want) < 1e-5
    else:
        assert torch.equal(got, want)


@on_every_device
def test_rules_of_c_and_output_types_that_others_have_are_served(device: str) -> None:
    a, b = fp8(3, 9, 256, 256, device)
    rows = (b[0], b[1].repeat_interleave(128, 0))
    want = torch.empty(9, 256, device=device)
    deep_gemm.fp8_gemm_nt(a, b, want)
    for recipe, operand in (((1, 128, 128), b), ((1, 1, 128), rows)):
        for dtype in (torch.bfloat16, torch.float32):
            c = torch.ones(9, 256, dtype=dtype, device=device)
            d = torch.empty_like(c)
            deep_gemm.fp8_gemm_nt(a, operand, d, recipe=recipe)
            assert deep_gemm.testing.calc_diff(d, want) < 1e-5
            deep_gemm.fp8_gemm_nt(a, operand, d, c, recipe=recipe)
            assert deep_gemm.testing.calc_diff(d, want + 1) < 1e-5
            deep_gemm.fp8_gemm_nt(a, operand, c, c, recipe=recipe)
            assert_same_product(c, d)


@on_every_device
def test_one_column_of_a_block_table_may_have_any_stride(device: str) -> None:
    call = LogitsCase(6, 60, 8, 64).paged(device)
    call["max_context_len"] = 60
    wide = torch.zeros(6, 7, dtype=torch.int32, device=device)
    wide[:, 0] = call["block_table"][:, 0]
    want = run_paged(call | {"block_table": call["block_table"][:, :1].contiguous()})
    for column in (wide[:, :1], wide[:, 0].unsqueeze(1), wide[:, :1].as_strided((6, 1), (7, 3))):
        got = run_paged(call | {"block_table": column})
        for row, length in enumerate(call["context_lens"].flatten().tolist()):
            assert torch.equal(got[row, :length], want[row, :length])


@on_every_device
def test_one_row_of_an_activation_may_have_any_stride(device: str) -> None:
    a, b = fp8(4, 1, 64, 384, device)
    d, e = (torch.empty(1, 64, dtype=torch.bfloat16, device=device) for _ in range(2))
    deep_gemm.fp8_gemm_nt(a, b, d)
    odd = (a[0].as_strided((1, 384), (77, 1)), a[1].as_strided((1, 3), (5, 1)))
    deep_gemm.fp8_gemm_nt(odd, b, e)
    assert torch.equal(d, e)


@on_every_device
@pytest.mark.parametrize("dims", ["", "nk", "mnk", "xyz", "m"])
def test_compiled_dims_take_any_letters_at_their_place(dims: str, device: str) -> None:
    a, b = fp8(5, 5, 64, 256, device)
    x, w = (t.to(device) for t in bf16_operands(GemmCase(5, 64, 256)))
    d, e = (torch.empty(5, 64, dtype=torch.bfloat16, device=device) for _ in range(2))
    deep_gemm.fp8_gemm_nt(a, b, d)
    deep_gemm.fp8_gemm_nt(a, b, e, None, None, None, None, dims)
    assert torch.equal(d, e)
    deep_gemm.bf16_gemm_nt(x, w, d)
    deep_gemm.bf16_gemm_nt(x, w, e, None, dims)
    assert torch.equal(d, e)


@on_every_device
def test_odd_numbers_of_sms_are_served(device: str) -> None:
    a, b = fp8(6, 200, 264, 256, device)
    want = torch.empty(200, 264, dtype=torch.bfloat16, device=device)
    deep_gemm.fp8_gemm_nt(a, b, want)
    before = deep_gemm.get_num_sms() if device == "cuda" else 0
    try:
        for num_sms in (1, 7):
            deep_gemm.set_num_sms(num_sms)
            got = torch.empty_like(want)
            deep_gemm.fp8_gemm_nt(a, b, got)
            assert torch.equal(got, want)
    finally:
        deep_gemm.set_num_sms(before)


@on_every_device
@pytest.mark.parametrize("n", [1, 7, 12, 100])
def test_any_number_of_columns_is_served(n: int, device: str) -> None:
    a, b = fp8(7, 33, n, 256, device)
    d = poisoned(33, n).to(device)
    deep_gemm.fp8_gemm_nt(a, b, d)
    assert_rows(d, a, b, slice(0, 33))


@on_every_device
def test_recipes_that_were_computed_wrongly_are_right_or_refused(device: str) -> None:
    a, b = fp8(8, 256, 128, 256, device)
    by_block = deep_gemm.per_block_cast_to_fp8(
        deep_gemm.reference.dequantise(*a, 1, 128, torch.float32), use_ue8m0=False
    )
    d = torch.empty(256, 128, device=device)
    deep_gemm.fp8_gemm_nt(by_block, b, d, recipe=(128, 128, 128))
    lhs = deep_gemm.reference.dequantise(*by_block, 128, 128)
    want = lhs @ deep_gemm.reference.dequantise(*b, 128, 128).t()
    assert deep_gemm.testing.calc_diff(d, want) < 1e-5
    rows = (b[0].unsqueeze(0), b[1].repeat_interleave(128, 0).unsqueeze(0).contiguous())
    layout = torch.zeros(256, dtype=torch.int32, device=device)
    by_row, by_tile = (torch.empty(256, 128, dtype=torch.bfloat16, device=device) for _ in range(2))
    call = deep_gemm.m_grouped_fp8_gemm_nt_contiguous
    call(a, rows, by_row, layout, recipe=(1, 1, 128))
    call(a, (b[0].unsqueeze(0), b[1].unsqueeze(0)), by_tile, layout)
    assert_same_product(by_row, by_tile)
    masked = torch.empty(1, 256, 128, dtype=torch.bfloat16, device=device)
    counts = torch.tensor([256], dtype=torch.int32, device=device)
    lhs8 = (a[0].unsqueeze(0), a[1].unsqueeze(0))
    deep_gemm.m_grouped_fp8_gemm_nt_masked(lhs8, rows, masked, counts, 256, recipe=(1, 1, 128))
    assert torch.equal(masked[0], by_tile)


# ---- The table ----


def table_rows() -> list[tuple[str, str]]:
    text = (ROOT / "docs/compatibility.md").read_text()
    section = text.partition("## Cases that users reported")[2]
    found = []
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if len(cells) == 4 and re.fullmatch(r"[A-D]\d+|T\d+", cells[0]):
            found.append((cells[0], cells[3]))
    return found


CASES = [f"A{number}" for number in (1, 3, 4, 5, 6, 9, 10, 13, 15, 16, 17, 18, 21, 22)]
CASES += [f"B{number}" for number in (1, 4, 7, 8, 9, 11, 13, 14, 16)] + ["C1", "C3"]
CASES += [f"D{number}" for number in (1, 3, 5, 6, 7, 9, 10)]
CASES += [f"T{number}" for number in range(1, 26)]


def test_the_table_has_every_case_and_trap_once() -> None:
    assert [name for name, _ in table_rows()] == CASES


@pytest.mark.parametrize(("name", "proof"), table_rows(), ids=[name for name, _ in table_rows()])
def test_a_row_names_tests_that_are_there(name: str, proof: str) -> None:
    links = re.findall(r"\[(\w+)\]\(\.\./(tests/[\w/]+\.(?:py|cpp))\)", proof)
    assert links, f"{name}: no test"
    for test, path in links:
        source = (ROOT / path).read_text()
        assert re.search(rf"^def {test}\(|^TEST\(\w+, {test}\)", source, re.M), f"{path}: {test}"
