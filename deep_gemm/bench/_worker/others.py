"""Hyper-connection, indexer logits, einsum and scale layouts."""

from __future__ import annotations

import random
from typing import Any

import torch

from .inputs import (
    DEVICE,
    difference,
    normal,
    poisoned,
    quantised_rows,
    quantised_stack,
    quantised_tokens,
)
from .workload import Workload, bound, number_in

Row = dict[str, Any]
_TYPES = {"BF16": torch.bfloat16, "FP32": torch.float32}


def tf32_hc_prenorm(lib: Any, row: Row) -> Workload:
    """The product with B at TF32, and the square sums, by splits of K or whole."""
    m, n, k = row["m"], row["n"], row["k"]
    splits = number_in(row["extra"], "num_splits")
    a, b = normal(m, k), torch.randn(n, k, device=DEVICE)
    head = () if splits is None else (splits,)
    d = poisoned(*head, m, n, dtype=torch.float32)
    squares = poisoned(*head, m, dtype=torch.float32)

    def call() -> None:
        lib.tf32_hc_prenorm_gemm(a, b, d, squares, num_splits=splits)

    def error() -> float:
        d.fill_(float("nan"))
        squares.fill_(float("nan"))
        call()
        rounded = ((b.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)
        got, got_squares = (d, squares) if splits is None else (d.sum(0), squares.sum(0))
        return max(
            difference(got, a.double() @ rounded.double().t()),
            difference(got_squares, a.double().square().sum(-1)),
        )

    num_bytes = 2 * m * k + 4 * n * k + 4 * (splits or 1) * m * (n + 1)
    return Workload(call, error, 2.0 * m * n * k, num_bytes)


def _logits_reference(
    q: torch.Tensor, kv: torch.Tensor, weights: torch.Tensor, ks: torch.Tensor, ke: torch.Tensor
) -> torch.Tensor:
    """[s, t] float32, zero outside the ranges; head by head, since all at once may not fit."""
    total = torch.zeros(q.shape[0], kv.shape[0], device=DEVICE)
    for head in range(q.shape[1]):
        total += (q[:, head].float() @ kv.t()).relu() * weights[:, head, None]
    at = torch.arange(kv.shape[0], device=DEVICE)
    return total.masked_fill(~((at >= ks[:, None]) & (at < ke[:, None])), 0)


def mqa_logits(lib: Any, row: Row) -> Workload:
    """m queries, n keys, dim k, heads in `groups`; the queries may be a rank's of two."""
    seq, keys, dim, heads = row["m"], row["n"], row["k"], row["groups"]
    q = normal(seq, heads, dim).to(torch.float8_e4m3fn)
    data, scale = quantised_tokens(normal(keys, dim))
    weights = torch.randn(seq, heads, device=DEVICE)
    rows = torch.arange(seq, dtype=torch.int32, device=DEVICE)
    if "context parallel=1" in row["extra"]:
        # The queries of one rank of two: a chunk from either end.
        half = seq // 2
        starts = torch.cat([rows[:half], keys - seq + rows[half:]])
        ks, ke = torch.zeros_like(rows), (starts + 1).clamp(max=keys).int()
    else:
        ks, ke = torch.zeros_like(rows), (rows + (keys - seq)).int()
    dtype = _TYPES[row["out"]]
    out: dict[str, torch.Tensor] = {}
    is_compressed = row["layout"] == "compressed"
    width = int((ke - ks).max()) if is_compressed else 0
    more = {"clean_logits": False, "max_seqlen_k": width, "logits_dtype": dtype}
    run = bound(lib.fp8_fp4_mqa_logits, (q, None), (data, scale), weights, ks, ke, **more)

    def call() -> None:
        out["logits"] = run()

    def error() -> float:
        call()
        kv = data.float() * scale[:, None]
        want = _logits_reference(q, kv, weights, ks, ke)
        columns = want.shape[1] if not is_compressed else width
        got = out["logits"][:, :columns].float()
        at = torch.arange(columns, device=DEVICE)
        valid = (at < ke[:, None]) & (at >= ks[:, None])
        return difference(got.masked_fill(~valid, 0), want[:, :columns].masked_fill(~valid, 0))

    pairs = float((ke - ks).sum())
    num_bytes = seq * heads * (dim + 4) + keys * (dim + 4) + dtype.itemsize * pairs
    return Workload(call, error, 2.0 * pairs * heads * dim, num_bytes)


def paged_mqa_logits(lib: Any, row: Row) -> Workload:
    """m requests with n tokens on average, in pages of 64."""
    batch, mean, dim, heads, page = row["m"], row["n"], row["k"], row["groups"], 64
    next_n = number_in(row["extra"], "next_n", 1) or 1
    draw = random.Random(0)
    lengths = [max(next_n, int(mean * draw.uniform(0.7, 1.3))) for _ in range(batch)]
    pages = [-(-length // page) for length in lengths]
    most = max(lengths)
    cache = torch.empty(sum(pages), page * (dim + 4), device=DEVICE, dtype=torch.uint8)
    data, scale = quantised_tokens(normal(sum(pages) * page, dim))
    cache[:, : page * dim] = data.view(torch.uint8).view(-1, page * dim)
    cache[:, page * dim :] = scale.view(-1, page).contiguous().view(torch.uint8)
    order = torch.randperm(sum(pages), device=DEVICE).int()
    table = torch.zeros(batch, max(pages), device=DEVICE, dtype=torch.int32)
    at = 0
    for request, count in enumerate(pages):
        table[request, :count] = order[at : at + count]
        at += count
    ends = torch.tensor(lengths, dtype=torch.int32, device=DEVICE)
    steps = torch.arange(next_n, dtype=torch.int32, device=DEVICE) - (next_n - 1)
    context = (ends[:, None] + steps).contiguous()
    q = normal(batch, next_n, heads, dim).to(torch.float8_e4m3fn)
    weights = torch.randn(batch * next_n, heads, device=DEVICE)
    view = cache.view(sum(pages), page, 1, dim + 4)
    num_sms = torch.cuda.get_device_properties(0).multi_processor_count
    meta = lib.get_paged_mqa_logits_metadata(context, page, num_sms)
    dtype = _TYPES[row["out"]]
    out: dict[str, torch.Tensor] = {}
    run = bound(
        lib.fp8_fp4_paged_mqa_logits,
        (q, None),
        view,
        weights,
        context,
        table,
        meta,
        most,
        clean_logits=False,
        logits_dtype=dtype,
    )

    def call() -> None:
        out["logits"] = run()

    def error() -> float:
        call()
        worst = 0.0
        for request in range(0, batch, max(1, batch // 16)):
            ids = table[request, : pages[request]].long()
            tokens = ids[:, None] * page + torch.arange(page, device=DEVICE)
            tokens = tokens.view(-1)[: lengths[request]]
            kv = data[tokens].float() * scale.view(-1)[tokens, None]
            for i in range(next_n):
                at = request * next_n + i
                length = int(context[request, i])
                want = (q[request, i].float() @ kv[:length].t()).relu().mul(weights[at, :, None])
                worst = max(worst, difference(out["logits"][at, :length], want.sum(0)))
        return worst

    total = float(sum(lengths))
    num_bytes = total * (dim + 4) + batch * next_n * heads * (dim + 4)
    return Workload(
        call, error, 2.0 * total * next_n * heads * dim,
        num_bytes + dtype.itemsize * total * next_n,
    )  # fmt: skip


def einsum(lib: Any, row: Row) -> Workload:
    """bf16: the sum over a batch, and the two products by head."""
    expr, extra = row["layout"], row["extra"]
    size = {key: number_in(extra, key) or 0 for key in "bmnkhrd"}
    if expr == "bmk,bnk->mn":
        dtype = _TYPES["FP32" if "FP32" in extra else "BF16"]
        a, b = normal(size["b"], size["m"], size["k"]), normal(size["b"], size["n"], size["k"])
        d = torch.zeros(size["m"], size["n"], device=DEVICE, dtype=dtype)
        c = d if dtype == torch.float32 else None
        flops = 2.0 * size["b"] * size["m"] * size["n"] * size["k"]
    else:
        wide = "r" if expr.startswith("bhr") else "d"
        narrow = "d" if wide == "r" else "r"
        a = normal(size["b"], size["h"], size[wide])
        b = normal(size["h"], size["d"], size["r"])
        d = poisoned(size["b"], size["h"], size[narrow], dtype=torch.bfloat16)
        c, dtype = None, torch.bfloat16
        flops = 2.0 * size["b"] * size["h"] * size["r"] * size["d"]
    call = bound(lib.einsum, expr, a, b, d, c=c)

    def error() -> float:
        d.zero_()
        call()
        return difference(d, torch.einsum(expr, a.float(), b.float()))

    num_bytes = 2 * (a.numel() + b.numel()) + d.numel() * d.element_size()
    return Workload(call, error, flops, num_bytes, lambda: torch.einsum(expr, a, b))


def fp8_einsum(lib: Any, row: Row) -> Workload:
    """bhr,hdr->bhd with scales of (1, 128) and (128, 128)."""
    size = {key: number_in(row["extra"], key) or 0 for key in "bhrd"}
    x, y = normal(size["b"], size["h"], size["r"]), normal(size["h"], size["d"], size["r"])
    d = poisoned(size["b"], size["h"], size["d"], dtype=torch.bfloat16)
    a, b = quantised_rows(x), quantised_stack(y)
    call = bound(lib.fp8_einsum, "bhr,hdr->bhd", a, b, d, recipe=(1, 128, 128))

    def error() -> float:
        d.fill_(float("nan"))
        call()
        return difference(d, torch.einsum("bhr,hdr->bhd", x.float(), y.float()))

    return Workload(
        call,
        error,
        2.0 * size["b"] * size["h"] * size["r"] * size["d"],
        x.numel() + y.numel() + 2 * d.numel(),
    )


def sf_layout(lib: Any, row: Row) -> Workload:
    """Scales of [m, k / 128] a group, transposed or packed."""
    m, columns, groups = row["m"], -(-row["k"] // 128), row["groups"]
    exponents = torch.randint(-8, 8, (groups, m, columns), device=DEVICE)
    sf = torch.exp2(exponents.float())
    sf = sf if groups > 1 else sf[0]
    if row["layout"] == "already transposed":
        sf = sf.transpose(-1, -2).contiguous().transpose(-1, -2)
    is_packed = row["out"] == "packed ue8m0"
    name = "get_mn_major_tma_aligned_packed_ue8m0_tensor" if is_packed else (
        "get_mn_major_tma_aligned_tensor"
    )  # fmt: skip
    function = getattr(lib, name)
    out: dict[str, torch.Tensor] = {}

    def call() -> None:
        out["sf"] = function(sf)

    def error() -> float:
        call()
        got = out["sf"]
        if is_packed:
            bits = sf.view(torch.int32) if sf.is_contiguous() else sf.contiguous().view(torch.int32)
            bytes_ = torch.nn.functional.pad(bits >> 23, (0, -columns % 4))
            parts = bytes_.unflatten(-1, (-1, 4)).to(torch.int64)
            want = (parts << torch.tensor([0, 8, 16, 24], device=DEVICE)).sum(-1)
            return float((got.to(torch.int64) & 0xFFFFFFFF).ne(want).sum())
        return float(got.ne(sf).sum())

    wide = sf.numel() * 4
    return Workload(call, error, 0.0, wide + (wide / 4 if is_packed else wide))
