"""Random calls of the operators, as tensors without data: for questions about what a call picks.

args, keywords = dense("fp8_gemm_nt", 2112, 7168, random.Random(1))
deep_gemm.plan("fp8_gemm_nt", *args, arch="90a", **keywords)

n and k are given, everything else is drawn: rows, groups, types of scales and results, c, alpha.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable

import torch

__all__ = [
    "BF16",
    "F32",
    "MATRIX_OPS",
    "Maker",
    "contiguous_logits",
    "even",
    "meta",
    "paged_logits",
    "sparse_logits",
]

BF16, F32, FP8 = torch.bfloat16, torch.float32, torch.float8_e4m3fn
INT8, INT32, UINT8 = torch.int8, torch.int32, torch.uint8
ROWS = [1, 2, 3, 7, 16, 31, 64, 65, 100, 128, 129, 300, 777, 1024, 4096, 10000, 40000]
Call = tuple[tuple[object, ...], dict[str, object]]
Maker = Callable[[str, int, int, random.Random], Call]


def meta(dtype: torch.dtype, *sizes: int) -> torch.Tensor:
    return torch.empty(sizes, dtype=dtype, device="meta")


def operand(kind: str, *sizes: int) -> torch.Tensor:
    """FP4 holds two values a byte along the last dimension."""
    if kind == "fp4":
        return meta(INT8, *sizes[:-1], sizes[-1] // 2)
    return meta({"fp8": FP8, "bf16": BF16}[kind], *sizes)


def blocks(size: int, of: int) -> int:
    return -(-size // of)


def scale_columns(dtype: torch.dtype, k: int, gran: int) -> int:
    return blocks(k, gran * (4 if dtype == INT32 else 1))


def kinds_of(op: str) -> list[tuple[str, str]]:
    if "bf16" in op or op == "einsum":
        return [("bf16", "bf16")]
    if op.startswith(("k_grouped_fp4", "fp4_gemm")):
        return [("fp4", "fp4")]
    if "fp4" in op:
        return [(a, b) for a in ("fp8", "fp4") for b in ("fp8", "fp4")]
    return [("fp8", "fp8")]


def even(size: int) -> int:
    return size + size % 2


def dense(op: str, n: int, k: int, chance: random.Random) -> Call:
    a_kind, b_kind = chance.choice(kinds_of(op))
    m = even(chance.choice(ROWS)) if a_kind == "fp4" else chance.choice(ROWS)
    letters = op[-2:] if op[-2:] in ("nn", "tn", "tt") else "nt"

    def stored(make: Callable[..., object], mn: int, along_k: int, transposed: bool) -> object:
        return make(along_k, mn) if transposed else make(mn, along_k)

    flips = letters[0] == "t", letters[1] == "n"
    a = stored(functools.partial(operand, a_kind), m, k, flips[0])
    b = stored(functools.partial(operand, b_kind), n, k, flips[1])
    d = meta(chance.choice((BF16, F32)), m, n)
    more: dict[str, object] = {"c": chance.choice((None, d, torch.empty_like(d)))}
    if a_kind == "bf16":
        return (a, b, d), more
    gran_n, scale = chance.choice((1, 128)), chance.choice((F32, INT32))
    grans = [chance.choice((32, 128)) if "fp4" in op else 128 for _ in "ab"]
    make = functools.partial(meta, scale)
    a_scale = stored(make, m, scale_columns(scale, k, grans[0]), flips[0])
    b_scale = stored(make, blocks(n, gran_n), scale_columns(scale, k, grans[1]), flips[1])
    more |= {"recipe_a": (1, grans[0]), "recipe_b": (gran_n, grans[1])}
    more["alpha"] = chance.choice((None, 0.5))
    return ((a, a_scale), (b, b_scale), d), more


def along_m(op: str, n: int, k: int, chance: random.Random) -> Call:
    a_kind, b_kind = chance.choice(kinds_of(op))
    groups, m = chance.choice((1, 2, 3, 8, 60)), chance.choice(ROWS)
    is_masked, is_nn = "_masked" in op, "_nn_" in op
    rows = (groups, m) if is_masked else (m,)
    a = operand(a_kind, *rows, k)
    b = operand(b_kind, groups, k, n) if is_nn else operand(b_kind, groups, n, k)
    d = meta(chance.choice((BF16, F32)), *rows, n)
    layout: tuple[object, ...] = (meta(INT32, groups), 5)
    more: dict[str, object] = {}
    if not is_masked:
        more["use_psum_layout"] = chance.random() < 0.5
        layout = (meta(INT32, groups if more["use_psum_layout"] else m),)
    if a_kind == "bf16":
        return (a, b, d, *layout), more
    gran_n, scale = chance.choice((1, 128)), chance.choice((F32, INT32))
    grans = [chance.choice((32, 128)) if "fp4" in op else 128 for _ in "ab"]
    a_scale = meta(scale, *rows, scale_columns(scale, k, grans[0]))
    columns = scale_columns(scale, k, grans[1])
    n_blocks = blocks(n, gran_n)
    b_scale = meta(scale, groups, *((columns, n_blocks) if is_nn else (n_blocks, columns)))
    more |= {"recipe_a": (1, grans[0]), "recipe_b": (gran_n, grans[1])}
    return ((a, a_scale), (b, b_scale), d, *layout), more


def along_k(op: str, n: int, k: int, chance: random.Random) -> Call:
    """Groups of k, and some that are empty."""
    (kind, _), m = kinds_of(op)[0], chance.choice(ROWS[:14])
    ks = [chance.choice((0, k)) for _ in range(chance.choice((1, 2, 5)))] + [k]
    total, groups = sum(ks), len(ks)
    is_rows, gran = "_tn_" in op, 32 if kind == "fp4" else 128

    def stored(mn: int) -> torch.Tensor:
        if is_rows:
            return operand(kind, total, mn)
        return operand(kind, mn, total) if kind == "fp4" else operand(kind, mn * total)

    d = meta(chance.choice((BF16, F32)), groups, m, n)
    more: dict[str, object] = {"c": chance.choice((None, d))}
    layout = meta(INT32, groups)
    if kind == "bf16":
        return (stored(m), stored(n), d, ks, layout), more
    scale = chance.choice((F32, INT32))
    columns = sum(scale_columns(scale, size, gran) for size in ks)
    is_flat = not is_rows and kind == "fp8"
    a_scale, b_scale = (
        meta(scale, *((mn, columns) if is_flat else (columns, mn))) for mn in (m, n)
    )
    return ((stored(m), a_scale), (stored(n), b_scale), d, ks, layout), more


def einsum(op: str, n: int, k: int, chance: random.Random) -> Call:
    expressions = ["bhr,hdr->bhd", "bhd,hdr->bhr", "bhd,bhr->hdr"]
    expr = chance.choice(expressions + ["bmk,bnk->mn"] * (op == "einsum"))
    batch, m = chance.choice((1, 2, 3, 16)), chance.choice(ROWS[:14])
    d_type = chance.choice((BF16, F32))
    kind = kinds_of(op)[0][0]
    if expr == "bmk,bnk->mn":
        d = meta(d_type, m, n)
        c = chance.choice((None, d))
        return (expr, operand(kind, batch, m, k), operand(kind, batch, n, k), d, c), {}
    gran_n, scale = chance.choice((1, 128)), chance.choice((F32, INT32))
    columns, n_blocks = scale_columns(scale, k, 128), blocks(n, gran_n)
    shapes = {
        "bhr,hdr->bhd": ((m, batch, k), (batch, n, k), (m, batch, n)),
        "bhd,hdr->bhr": ((m, batch, k), (batch, k, n), (m, batch, n)),
        "bhd,bhr->hdr": ((k, batch, m), (k, batch, n), (batch, m, n)),
    }
    scales = {
        "bhr,hdr->bhd": ((m, batch, columns), (batch, n_blocks, columns)),
        "bhd,hdr->bhr": ((m, batch, columns), (batch, columns, n_blocks)),
        "bhd,bhr->hdr": ((columns, batch, m), (columns, batch, n_blocks)),
    }
    a, b, d = shapes[expr]
    a, b, d = operand(kind, *a), operand(kind, *b), meta(d_type, *d)
    more: dict[str, object] = {"c": chance.choice((None, d))}
    if kind == "bf16":
        return (expr, a, b, d), more
    a_scale, b_scale = (meta(scale, *shape) for shape in scales[expr])
    more["recipe"] = (1, gran_n, 128)
    return (expr, (a, a_scale), (b, b_scale), d), more


def hyperconnection(op: str, n: int, k: int, chance: random.Random) -> Call:
    m, splits = chance.choice(ROWS), chance.choice((None, 1, 2, 3, 7, 8, 16, 64))
    front = () if splits is None else (splits,)
    a, b = meta(BF16, m, k), meta(F32, n, k)
    return (a, b, meta(F32, *front, m, n), meta(F32, *front, m), splits), {}


FAMILIES: list[tuple[Maker, list[str]]] = [
    (dense, [f"{kind}_gemm_{letters}" for kind in ("fp8", "fp8_fp4", "bf16")
             for letters in ("nt", "nn", "tn", "tt")] + ["fp4_gemm_nt"]),
    (along_m, [
        "m_grouped_fp8_fp4_gemm_nt_contiguous", "m_grouped_fp8_fp4_gemm_nn_contiguous",
        "m_grouped_fp8_gemm_nt_contiguous", "m_grouped_fp8_gemm_nn_contiguous",
        "m_grouped_fp4_gemm_nt_contiguous", "m_grouped_bf16_gemm_nt_contiguous",
        "m_grouped_bf16_gemm_nn_contiguous", "m_grouped_fp8_fp4_gemm_nt_masked",
        "m_grouped_fp8_gemm_nt_masked", "m_grouped_fp4_gemm_nt_masked",
        "m_grouped_bf16_gemm_nt_masked", "fp8_m_grouped_gemm_nt_masked",
        "bf16_m_grouped_gemm_nt_masked",
    ]),
    (along_k, [
        "k_grouped_fp8_gemm_nt_contiguous", "k_grouped_fp8_gemm_tn_contiguous",
        "k_grouped_fp4_gemm_nt_contiguous", "k_grouped_bf16_gemm_tn_contiguous",
    ]),
    (einsum, ["einsum", "fp8_einsum"]),
    (hyperconnection, ["tf32_hc_prenorm_gemm"]),
]  # fmt: skip
MATRIX_OPS = [(op, make) for make, ops in FAMILIES for op in ops]


def paged_logits(op: str, heads: int, dim: int, page: int, next_n: int, chance: random.Random,
               slots: int) -> Call:  # fmt: skip
    batch, width = chance.choice((1, 2, 64, 256)), chance.choice((1, 64, 3000, 20000))
    kind = chance.choice(("fp8", "mx", "fp4")) if "fp4" in op else "fp8"
    q = operand("fp4" if kind == "fp4" else "fp8", batch, next_n, heads, dim)
    row = (dim // 2 if kind == "fp4" else dim) + 4
    weights = meta(chance.choice((F32, BF16)), batch * next_n, heads)
    rest = (
        meta(UINT8, chance.choice((1, 500)), page, 1, row), weights, meta(INT32, batch, next_n),
        meta(INT32, batch, blocks(width, page)), meta(INT32, slots + 1, 2), width, False,
    )  # fmt: skip
    if "fp4" not in op:
        return (q, *rest), {}
    q_scale = None if kind == "fp8" else meta(INT32, batch, next_n, heads)
    return ((q, q_scale), *rest), {"logits_dtype": chance.choice((F32, BF16))}


def contiguous_logits(op: str, heads: int, dim: int, chance: random.Random) -> Call:
    rows, keys = chance.choice((1, 5, 128, 2000)), chance.choice((1, 64, 500, 8192))
    kind = chance.choice(("fp8", "mx", "fp4")) if "fp4" in op else "fp8"
    stored = "fp4" if kind == "fp4" else "fp8"
    q, kv = operand(stored, rows, heads, dim), operand(stored, keys, dim)
    scale = meta(F32 if kind == "fp8" else INT32, keys)
    weights = meta(chance.choice((F32, BF16)), rows, heads)
    rest = ((kv, scale), weights, meta(INT32, rows), meta(INT32, rows), False)
    if "fp4" not in op:
        return (q, *rest), {}
    q_scale = None if kind == "fp8" else meta(INT32, rows, heads)
    return ((q, q_scale), *rest), {"logits_dtype": chance.choice((F32, BF16))}


def sparse_logits(op: str, heads: int, dim: int, chance: random.Random) -> Call:
    rows, chosen, block = chance.choice((1, 5, 2000)), chance.choice((4, 64, 500)), 8
    block *= chance.choice((1, 2))
    kind = chance.choice(("fp8", "mx", "fp4"))
    stored = "fp4" if kind == "fp4" else "fp8"
    q = operand(stored, rows, heads, dim)
    q_scale = None if kind == "fp8" else meta(INT32, rows, heads)
    weights, blocks_of = meta(F32, rows, heads), meta(UINT8, rows * chosen * 8)
    rest = (weights, blocks_of, chosen, block)
    if "paged" in op:
        row = (dim // 2 if kind == "fp4" else dim) + 4
        return ((q, q_scale), meta(UINT8, 500, 64, 1, row), *rest), {}
    scale = meta(F32 if kind == "fp8" else INT32, 4096)
    return ((q, q_scale), (operand(stored, 4096, dim), scale), *rest), {}
