"""One kernel family on small shapes with poisoned outputs, against float32: seconds, no pytest.

python3 bench/variants/smoke.py bf16        # a name of KERNELS; 0 and "ok" when all is right
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import torch

import deep_gemm

BF16, F32 = torch.bfloat16, torch.float32
SIZES = [(1, 64, 64), (65, 136, 200), (300, 520, 320), (1000, 1032, 1040)]


def normal(*sizes: int) -> torch.Tensor:
    """bfloat16 on the GPU."""
    return torch.randn(*sizes, device="cuda", dtype=BF16)


def poisoned(*sizes: int, dtype: torch.dtype) -> torch.Tensor:
    """An output that shows what was not written."""
    return torch.full(sizes, float("nan"), device="cuda", dtype=dtype)


def check(name: str, got: torch.Tensor, want: torch.Tensor, limit: float) -> None:
    """Relative error in the Frobenius norm."""
    torch.cuda.synchronize()
    error = float((got.double() - want.double()).norm() / want.double().norm())
    print(f"{name}: {error:.2e}", flush=True)
    if not error < limit:
        raise SystemExit(f"wrong: {name}: {error} is not below {limit}")


def need_hopper(plan: dict[str, str]) -> None:
    """The kernel under test is the one that runs."""
    if "sm90" not in plan["plan"]:
        raise SystemExit(f"another kernel runs: {plan['plan']}")


def bf16() -> None:
    """Orders, outputs, sums; then groups."""
    for m, n, k in SIZES:
        for letters in ("nt", "nn", "tn", "tt") if m % 8 == 0 and n % 8 == 0 else ("nt",):
            a, b = normal(m, k), normal(n, k)
            x = a.t().contiguous() if letters[0] == "t" else a
            y = b.t().contiguous() if letters[1] == "n" else b
            want = a.float() @ b.float().t()
            op = getattr(deep_gemm, f"bf16_gemm_{letters}")
            for dtype in (BF16, F32):
                d, c = poisoned(m, n, dtype=dtype), torch.randn(m, n, device="cuda").to(dtype)
                need_hopper(deep_gemm.plan(f"bf16_gemm_{letters}", x, y, d))
                op(x, y, d)
                check(f"{m}x{n}x{k} {letters} {dtype}", d, want, 5e-3)
                both = want + c.float()
                op(x, y, c, c=c)
                check(f"{m}x{n}x{k} {letters} {dtype} +d", c, both, 5e-3)
    rows, n, k, groups = 512, 264, 320, 4
    a, b = normal(rows, k), normal(groups, n, k)
    index = torch.arange(rows, device="cuda", dtype=torch.int32) // 128
    ends = torch.tensor([100, 256, 300, 512], device="cuda", dtype=torch.int32)
    want = torch.cat([a[128 * g : 128 * g + 128].float() @ b[g].float().t() for g in range(groups)])
    for name, layout in (("index", index), ("ends", ends)):
        d = poisoned(rows, n, dtype=BF16)
        is_ends = name == "ends"
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(a, b, d, layout, use_psum_layout=is_ends)
        known = index < groups
        if is_ends:
            starts = torch.tensor([0, 128, 256, 384], device="cuda")
            known = (torch.arange(rows, device="cuda") - starts[index.long()]) < (
                ends - starts.int()
            )[index.long()]
        check(f"grouped by {name}", d[known], want[known], 5e-3)
    d, counts = poisoned(groups, 128, n, dtype=BF16), torch.tensor([1, 128, 0, 65]).int().cuda()
    deep_gemm.m_grouped_bf16_gemm_nt_masked(a.view(groups, 128, k), b, d, counts, 64)
    wants = want.view(groups, 128, n)
    for g, count in enumerate(counts.tolist()):
        if count:
            check(f"masked group {g}", d[g, :count], wants[g, :count], 5e-3)
        if not bool(d[g, count:].isnan().all()):
            raise SystemExit(f"wrong: rows of group {g} past its count were written")


def bf16_along_k() -> None:
    """Groups along k: tails, one without k, sums in place."""
    m, n, sizes = 136, 264, [200, 0, 64, 1, 383]
    a, b = normal(sum(sizes), m), normal(sum(sizes), n)
    layout, at, parts = torch.tensor(sizes, dtype=torch.int32, device="cuda"), 0, []
    for size in sizes:
        parts.append(a[at : at + size].float().t() @ b[at : at + size].float())
        at += size
    want, op = torch.stack(parts), deep_gemm.k_grouped_bf16_gemm_tn_contiguous
    for dtype in (BF16, F32):
        d = poisoned(len(sizes), m, n, dtype=dtype)
        need_hopper(deep_gemm.plan("k_grouped_bf16_gemm_tn_contiguous", a, b, d, sizes, layout))
        op(a, b, d, sizes, layout)
        check(f"along k {dtype}", d, want, 5e-3)
        c = torch.randn(len(sizes), m, n, device="cuda").to(dtype)
        both = want + c.float()
        op(a, b, c, sizes, layout, c=c)
        check(f"along k {dtype} +d", c, both, 5e-3)


def fp8_rows() -> None:
    """A scale a row on both sides, and 128 rows of b; float32, stored and added to d."""
    for m, n, k in [(m, n, -(-k // 128) * 128) for m, n, k in SIZES]:
        a = deep_gemm.per_token_cast_to_fp8(normal(m, k), False)
        for rows in (1, 128):
            cast = deep_gemm.per_token_cast_to_fp8 if rows == 1 else deep_gemm.per_block_cast_to_fp8
            b = cast(normal(n, k), False)
            want = deep_gemm.reference.fp8_gemm(*a, *b, recipe_a=(1, 128), recipe_b=(rows, 128))
            d, c = poisoned(m, n, dtype=F32), torch.randn(m, n, device="cuda")
            recipe = (1, rows, 128)
            need_hopper(deep_gemm.plan("fp8_gemm_nt", a, b, d, recipe=recipe))
            deep_gemm.fp8_gemm_nt(a, b, d, recipe=recipe)
            check(f"{m}x{n}x{k} rows {rows}", d, want, 2e-3)
            both = want + c.double()
            deep_gemm.fp8_gemm_nt(a, b, c, c=c, recipe=recipe)
            check(f"{m}x{n}x{k} rows {rows} +d", c, both, 2e-3)


def fp8() -> None:
    """The FP8 GEMM as it is by default, dense and grouped."""
    for m, n, k in [(m, n, -(-k // 128) * 128) for m, n, k in SIZES]:
        a = deep_gemm.per_token_cast_to_fp8(normal(m, k), False)
        b = deep_gemm.per_block_cast_to_fp8(normal(n, k), False)
        d = poisoned(m, n, dtype=BF16)
        deep_gemm.fp8_gemm_nt(a, b, d)
        check(f"{m}x{n}x{k}", d, deep_gemm.reference.fp8_gemm(*a, *b), 5e-3)
    rows, n, k, groups = 512, 264, 384, 4
    a = deep_gemm.per_token_cast_to_fp8(normal(rows, k), False)
    parts = [deep_gemm.per_block_cast_to_fp8(normal(n, k), False) for _ in range(groups)]
    b = torch.stack([p[0] for p in parts]), torch.stack([p[1] for p in parts])
    index = torch.arange(rows, device="cuda", dtype=torch.int32) // 128
    want = torch.cat(
        [
            deep_gemm.reference.fp8_gemm(a[0][s : s + 128], a[1][s : s + 128], *parts[s // 128])
            for s in range(0, rows, 128)
        ]
    )
    d = poisoned(rows, n, dtype=BF16)
    deep_gemm.m_grouped_fp8_gemm_nt_contiguous(a, b, d, index)
    check("grouped by index", d, want, 5e-3)
    d = poisoned(groups, 128, n, dtype=BF16)
    counts = torch.tensor([1, 128, 0, 65]).int().cuda()
    stacked = a[0].view(groups, 128, k), a[1].view(groups, 128, -1)
    deep_gemm.m_grouped_fp8_gemm_nt_masked(stacked, b, d, counts, 64)
    for g, count in enumerate(counts.tolist()):
        if count:
            check(f"masked group {g}", d[g, :count], want.view(groups, 128, n)[g, :count], 5e-3)


def paged() -> None:
    """Its suite has the inputs; here only the import that the suite needs."""
    import pytest

    suite = "tests/deep_gemm/test_attention_paged.py"
    code = pytest.main(
        ["-q", "-x", "-k", "cuda and (match or garbage)", "-p", "no:cacheprovider", suite]
    )
    if code:
        raise SystemExit(f"wrong: {suite}")


KERNELS: dict[str, Callable[[], None]] = {
    "bf16": bf16, "bf16_along_k": bf16_along_k, "fp8_rows": fp8_rows, "fp8": fp8, "paged": paged,
}  # fmt: skip


if __name__ == "__main__":
    torch.manual_seed(0)
    KERNELS[sys.argv[1]]()
    print("ok")
