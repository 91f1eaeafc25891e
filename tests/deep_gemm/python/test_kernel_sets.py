"""What a call picks, for many sizes of every family, is among what precompile lists beforehand."""

from __future__ import annotations

import functools
import random

import pytest

import deep_gemm
from deep_gemm import _ops, errors
from tests.support.random_calls import (
    BF16,
    F32,
    MATRIX_OPS,
    Maker,
    contiguous_logits,
    even,
    meta,
    paged_logits,
    sparse_logits,
)

ARCHS = ["90a", "80", "x86-64-v3"]
SIZES = [(24, 7168), (100, 256), (4096, 512), (129, 128), (7, 40), (2112, 2048), (34, 7)]


def legal_sizes(op: str) -> list[tuple[int, int]]:
    sizes = SIZES
    if "fp4" in op or op.startswith("k_grouped_fp"):
        sizes = [(even(n), k) for n, k in sizes if k % 128 == 0]
    return sizes


def requests(op: str, *sizes: int, arch: str, **keys: object) -> set[str]:
    answer = deep_gemm.precompile(op, *sizes, arch=arch, dry_run=True, **keys)
    found = [row["request"] for row in answer["kernels"]]
    assert len(found) == len(set(found)), "a kernel is listed once"
    return set(found)


@functools.cache
def all_requests(arch: str) -> set[str]:
    return requests("all", arch=arch)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(("op", "make"), MATRIX_OPS, ids=[op for op, _ in MATRIX_OPS])
def test_what_random_calls_pick_is_what_precompile_lists(op: str, make: Maker, arch: str) -> None:
    chance = random.Random(f"{op} {arch}")
    any_size, everything = requests(op, arch=arch), all_requests(arch)
    assert any_size <= everything
    for n, k in legal_sizes(op):
        listed = requests(op, n, k, arch=arch)
        assert listed <= any_size, (n, k)
        for _ in range(30):
            args, more = make(op, n, k, chance)
            plan = deep_gemm.plan(op, *args, arch=arch, **more)
            assert plan["request"] in listed, (n, k, plan["plan"], args, more)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("op", ["fp8_mqa_logits", "fp8_fp4_mqa_logits"])
def test_logits_of_contiguous_keys_pick_what_precompile_lists(op: str, arch: str) -> None:
    chance = random.Random(f"{op} {arch}")
    any_size = requests(op, arch=arch)
    assert any_size <= all_requests(arch)
    for heads, dim in ((1, 32), (16, 64), (32, 128), (64, 128), (64, 96), (65, 32), (128, 128)):
        listed = requests(op, heads=heads, head_dim=dim, arch=arch)
        assert listed <= any_size
        picked = set()
        for _ in range(150):
            args, more = contiguous_logits(op, heads, dim, chance)
            plan = deep_gemm.plan(op, *args, arch=arch, **more)
            assert plan["request"] in listed, plan["plan"]
            picked.add(plan["request"])
        assert picked == listed, "each is picked by some call"


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("op", ["fp8_paged_mqa_logits", "fp8_fp4_paged_mqa_logits"])
def test_logits_of_paged_keys_pick_what_precompile_lists(op: str, arch: str) -> None:
    chance = random.Random(f"{op} {arch}")
    slots = {"90a": 132, "80": 108}.get(arch, 16)
    any_size = requests(op, arch=arch)
    assert any_size <= all_requests(arch)
    for heads, dim in ((1, 32), (32, 64), (64, 128), (128, 96)):
        for page, next_n in ((64, 1), (256, 2), (32, 3), (16, 4), (48, 1), (64, 5), (1, 2)):
            keys = {"heads": heads, "head_dim": dim, "block_kv": page, "next_n": next_n}
            listed = requests(op, arch=arch, **keys)
            assert listed <= any_size
            for _ in range(20):
                args, more = paged_logits(op, heads, dim, page, next_n, chance, slots)
                plan = deep_gemm.plan(op, *args, arch=arch, **more)
                assert plan["request"] in listed, plan["plan"]


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("op", ["fp8_fp4_sparse_mqa_logits", "fp8_fp4_paged_sparse_mqa_logits"])
def test_logits_of_chosen_blocks_pick_what_precompile_lists(op: str, arch: str) -> None:
    chance = random.Random(f"{op} {arch}")
    any_size = requests(op, arch=arch)
    assert any_size <= all_requests(arch)
    for heads, dim in ((1, 32), (16, 64), (64, 128), (128, 96)):
        listed = requests(op, heads=heads, head_dim=dim, arch=arch)
        assert listed <= any_size
        picked = set()
        for _ in range(60):
            args, more = sparse_logits(op, heads, dim, chance)
            plan = deep_gemm.plan(op, *args, arch=arch, **more)
            assert plan["request"] in listed, plan["plan"]
            picked.add(plan["request"])
        assert picked == listed, "each is picked by some call"


@pytest.mark.parametrize("arch", ARCHS)
def test_a_gate_picks_what_precompile_lists_beside_its_product(arch: str) -> None:
    op, rows, hidden = "bf16_mega_gate", 64, 7168
    any_size = requests(op, arch=arch)
    for experts in (1, 32, 33, 256, 257, 512):
        listed = requests(op, experts, hidden, arch=arch)
        x, weight = meta(BF16, rows, hidden), meta(BF16, experts, hidden)
        logits = meta(F32, rows, experts)
        choice = deep_gemm.plan(op, x, weight, 1, False, 0, 1.0, 0, arch=arch)["request"]
        product = deep_gemm.plan("bf16_gemm_nt", x, weight, logits, arch=arch)["request"]
        assert {choice, product} <= listed <= any_size


def test_every_listed_kernel_of_a_hyperconnection_is_picked_by_some_call() -> None:
    for n, k in ((24, 7168), (8, 64), (32, 1024), (20, 4096), (40, 512)):
        picked = set()
        for m in (1, 40, 64, 100, 200, 400, 800, 1000, 2000, 3000, 4000, 4300, 6000, 7000, 40000):
            for splits in (*range(1, 17), 40, 70):
                a, b = meta(BF16, m, k), meta(F32, n, k)
                d, squares = meta(F32, splits, m, n), meta(F32, splits, m)
                op = "tf32_hc_prenorm_gemm"
                picked.add(deep_gemm.plan(op, a, b, d, squares, splits, arch="90a")["request"])
        assert picked == requests("tf32_hc_prenorm_gemm", n, k, arch="90a"), (n, k)


def test_other_storage_orders_and_strides_are_among_those_of_any_size() -> None:
    chance = random.Random(7)
    op = "bf16_gemm_nt"
    listed, of_contiguous = requests(op, arch="90a"), requests(op, 64, 64, arch="90a")
    outside = 0
    for _ in range(60):
        m, n, k = (chance.choice((1, 8, 33, 64)) for _ in range(3))
        pitch = chance.choice((64, 71, 72))
        a, b = (
            meta(BF16, pitch, rows).t()[:, :k] if chance.random() < 0.5
            else meta(BF16, rows, pitch)[:, :k]
            for rows in (m, n)
        )  # fmt: skip
        request = deep_gemm.plan(op, a, b, meta(F32, m, n), arch="90a")["request"]
        assert request in listed
        outside += request not in of_contiguous
    assert outside > 0, "strided operands have kernels of their own"


def test_operators_without_kernels_list_none() -> None:
    for op in ("get_mqa_logits_metadata", "cublaslt_gemm_nt", "batched_syrk"):
        assert deep_gemm.precompile(op, arch="90a", dry_run=True)["kernels"] == []
    for arch in ARCHS:
        assert len(requests("get_paged_mqa_logits_metadata", arch=arch)) == 1


def test_every_operator_is_known_to_precompile() -> None:
    everything = all_requests("90a")
    for schema in _ops.query("schemas"):
        op = schema.partition("(")[0]
        if op.startswith("_") or op in ("get_jit", "get_token_alignment_for_mega_moe"):
            continue
        if ("mega" in op and op != "bf16_mega_gate") or op.startswith(("transform_", "get_symm")):
            continue
        assert requests(op, arch="90a") <= everything, op
    skipping = requests("fp8_gemm_nt_skip_head_mid", 192, 128, arch="90a")
    assert skipping == requests("fp8_gemm_nt", 192, 128, arch="90a")


@pytest.mark.parametrize(
    ("op", "keys", "words"),
    [
        ("fp8_mqa_logits", {"n": 64, "k": 64}, r"KNOWN_KEY.*heads"),
        ("fp8_mqa_logits", {"heads": 200}, "LOGITS_HEADS"),
        ("fp8_mqa_logits", {"head_dim": 100}, "LOGITS_HEAD_DIM"),
        ("fp8_paged_mqa_logits", {"block_kv": 70000}, "LOGITS_PAGE"),
        ("einsum", {"n": 8, "k": 8, "expr": "ab,bc->ac"}, "EINSUM_EXPRESSION"),
        ("fp8_einsum", {"expr": "bmk,bnk->mn"}, "EINSUM_EXPRESSION"),
        ("bf16_gemm_nt", {"heads": 8}, "KNOWN_KEY"),
        ("bf16_gemm_nt", {"n": 8}, "n and k go together"),
        ("tf32_hc_prenorm_gemm", {"dtypes": F32}, "KNOWN_KEY"),
        ("all", {"n": 8, "k": 8}, "KNOWN_KEY"),
        ("k_grouped_fp8_gemm_nt_contiguous", {"n": 8, "k": 100}, "K_SIZES_MULTIPLE"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_sizes_that_an_operator_does_not_have_are_refused(
    op: str, keys: dict[str, object], words: str
) -> None:
    with pytest.raises((errors.InvalidArgument, errors.Unsupported), match=words):
        deep_gemm.precompile(op, arch="90a", dry_run=True, **keys)
