"""Dense and grouped GEMMs."""

from __future__ import annotations

from typing import Any

import torch

from .inputs import (
    DEVICE,
    difference,
    normal,
    poisoned,
    quantised_blocks,
    quantised_rows,
    quantised_stack,
    uneven,
    uneven_sum,
)
from .workload import Workload, bound

Row = dict[str, Any]
_TYPES = {"BF16": torch.bfloat16, "FP32": torch.float32}
_ALIGNMENT = 128


def _scaled_mm(a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype) -> Any:
    one = torch.ones((), device=DEVICE)
    return lambda: torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=dtype)


def dense_fp8(lib: Any, row: Row) -> Workload:
    """(1, 128) by (128, 128) scales, or by (1, 128) ones with recipe (1, 1, 128)."""
    m, n, k = row["m"], row["n"], row["k"]
    dtype = _TYPES[row["out"]]
    x, y = normal(m, k), normal(n, k)
    is_by_row = row["scales"] == "1x128,1x128"
    a, b = quantised_rows(x), quantised_rows(y) if is_by_row else quantised_blocks(y)
    recipe = (1, 1, 128) if is_by_row else None
    c = torch.randn(m, n, device=DEVICE) * 32 if row["accumulate"] else None
    d = poisoned(m, n, dtype=dtype)
    more = {"recipe": recipe} if recipe else {}
    target = c.clone() if c is not None else d

    def error() -> float:
        if c is None:
            d.fill_(float("nan"))
        else:
            target.copy_(c)
        call()
        return difference(target, x.float() @ y.float().t() + (0 if c is None else c))

    call = bound(lib.fp8_gemm_nt, a, b, target, c=target if c is not None else None, **more)
    size = 2 if dtype == torch.bfloat16 else (8 if c is not None else 4)
    return Workload(
        call, error, 2.0 * m * n * k, m * k + n * k + size * m * n, _scaled_mm(a[0], b[0], dtype)
    )


def dense_bf16(lib: Any, row: Row) -> Workload:
    """The letters say how the operands are stored."""
    m, n, k, letters = row["m"], row["n"], row["k"], row["layout"].lower()
    dtype = _TYPES[row["out"]]
    a = normal(m, k) if letters[0] == "n" else normal(k, m)
    b = normal(k, n) if letters[1] == "n" else normal(n, k)
    left = a if letters[0] == "n" else a.t()
    right = b if letters[1] == "n" else b.t()
    c = torch.randn(m, n, device=DEVICE).to(dtype) if row["accumulate"] else None
    target = c.clone() if c is not None else poisoned(m, n, dtype=dtype)
    function = getattr(lib, f"bf16_gemm_{letters}")
    call = bound(function, a, b, target, c=target if c is not None else None)

    def error() -> float:
        target.copy_(c) if c is not None else target.fill_(float("nan"))
        call()
        return difference(target, left.float() @ right.float() + (0 if c is None else c.float()))

    out = torch.empty(m, n, device=DEVICE, dtype=dtype)
    vendor = None
    if dtype == torch.bfloat16 and c is None:
        vendor = lambda: torch.mm(left, right, out=out)  # noqa: E731
    elif dtype == torch.bfloat16:
        vendor = lambda: torch.addmm(c, left, right, out=out)  # noqa: E731
    elif hasattr(lib, "cublaslt_gemm_nt"):
        accumulated = out if c is not None else None
        vendor = bound(getattr(lib, f"cublaslt_gemm_{letters}"), a, b, out, c=accumulated)
    size = (2 if dtype == torch.bfloat16 else 4) * (2 if c is not None else 1)
    return Workload(call, error, 2.0 * m * n * k, 2 * (m * k + n * k) + size * m * n, vendor)


def _grouped_reference(
    x: torch.Tensor, y: torch.Tensor, starts: list[int], ends: list[int]
) -> list[torch.Tensor]:
    return [
        x[start:end].float() @ y[group].float().t()
        for group, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]


def m_grouped_fp8(lib: Any, row: Row) -> Workload:
    """Contiguous groups, by an index a row or by the ends of the groups."""
    n, k, groups = row["n"], row["k"], row["groups"]
    is_ends = row["family"] == "m_grouped_fp8_psum"
    if "sizes" in row:
        sizes = row["sizes"]
    elif row["extra"].startswith("m = aligned"):
        sizes = uneven_sum(row["m"], groups, _ALIGNMENT)
    else:
        sizes = uneven(row["m"], groups)
    starts, ends, at = [], [], 0
    for size in sizes:
        starts.append(at)
        ends.append(at + size)
        at = -(-(at + size) // _ALIGNMENT) * _ALIGNMENT
    is_exact = "sizes" in row or row["extra"].startswith("m = aligned")
    rows = at if is_exact else max(at, 4096 * groups)
    x, y = normal(rows, k), normal(groups, n, k)
    d = poisoned(rows, n, dtype=torch.bfloat16)
    if is_ends:
        layout = torch.tensor(ends, dtype=torch.int32, device=DEVICE)
    else:
        layout = torch.full((rows,), -1, dtype=torch.int32)
        for group, (start, end) in enumerate(zip(starts, ends, strict=True)):
            layout[start:end] = group
        layout = layout.to(DEVICE)
    call = bound(
        lib.m_grouped_fp8_gemm_nt_contiguous,
        quantised_rows(x),
        quantised_stack(y),
        d,
        layout,
        **({"use_psum_layout": True} if is_ends else {}),
    )

    def error() -> float:
        d.fill_(float("nan"))
        call()
        got = torch.cat([d[s:e] for s, e in zip(starts, ends, strict=True)])
        return difference(got, torch.cat(_grouped_reference(x, y, starts, ends)))

    valid = sum(sizes)
    return Workload(call, error, 2.0 * valid * n * k, valid * (k + 2 * n) + groups * n * k)


def masked_fp8(lib: Any, row: Row) -> Workload:
    """[groups, 4096, k] with as many valid rows as the mask says."""
    n, k, groups, most = row["n"], row["k"], row["groups"], 4096
    sizes = uneven(row["m"], groups)
    x, y = normal(groups, most, k), normal(groups, n, k)
    d = poisoned(groups, most, n, dtype=torch.bfloat16)
    mask = torch.tensor(sizes, dtype=torch.int32, device=DEVICE)
    function = (
        getattr(lib, "m_grouped_fp8_gemm_nt_masked", None) or lib.fp8_m_grouped_gemm_nt_masked
    )
    call = bound(function, quantised_rows(x), quantised_stack(y), d, mask, int(row["m"] * 1.2))

    def error() -> float:
        d.fill_(float("nan"))
        call()
        got = torch.cat([d[g, :size] for g, size in enumerate(sizes)])
        want = [x[g, :size].float() @ y[g].float().t() for g, size in enumerate(sizes)]
        return difference(got, torch.cat(want))

    valid = sum(sizes)
    return Workload(call, error, 2.0 * valid * n * k, valid * (k + 2 * n) + groups * n * k)


def k_grouped_fp8(lib: Any, row: Row) -> Workload:
    """A flat block [m, k_g] a group, accumulated into float32."""
    m, n, groups = row["m"], row["n"], row["groups"]
    sizes = uneven_sum(row["k"], groups, 128)
    pairs = [(normal(m, k), normal(n, k)) for k in sizes]
    a = [quantised_rows(x) for x, _ in pairs]
    b = [quantised_rows(y) for _, y in pairs]

    def flat(parts: list[tuple[torch.Tensor, torch.Tensor]]) -> tuple[torch.Tensor, torch.Tensor]:
        data = torch.cat([d.reshape(-1).view(torch.uint8) for d, _ in parts])
        scale = torch.cat([s.t() for _, s in parts]).contiguous().t()
        return data.view(torch.float8_e4m3fn), scale

    c = torch.randn(groups, m, n, device=DEVICE) * 32
    d = c.clone()
    layout = torch.tensor(sizes, dtype=torch.int32, device=DEVICE)
    call = bound(lib.k_grouped_fp8_gemm_nt_contiguous, flat(a), flat(b), d, sizes, layout, c=d)

    def error() -> float:
        d.copy_(c)
        call()
        want = torch.stack([x.float() @ y.float().t() for x, y in pairs])
        return difference(d, want + c)

    total = sum(sizes)
    return Workload(call, error, 2.0 * m * n * total, (m + n) * total + 8 * groups * m * n)


def skip_head_mid_fp8(lib: Any, row: Row) -> Workload:
    """Heads of 128 + 128 columns with a gap of 64 that is not written."""
    m, n, k = row["m"], row["n"], row["k"]
    left, mid, right = 128, 64, 128
    heads = n // (left + right)
    x, y = normal(m, k), normal(n, k)
    d = torch.zeros(m, n + heads * mid, device=DEVICE, dtype=torch.bfloat16)
    call = bound(
        lib.fp8_gemm_nt_skip_head_mid,
        quantised_rows(x),
        quantised_blocks(y),
        d,
        (left, mid, right),
    )

    def error() -> float:
        d.zero_()
        call()
        want = (x.float() @ y.float().t()).view(m, heads, left + right)
        gap = torch.zeros(m, heads, mid, device=DEVICE)
        want = torch.cat([want[..., :left], gap, want[..., left:]], dim=-1)
        return difference(d, want.view(m, -1))

    return Workload(call, error, 2.0 * m * n * k, m * k + n * k + 2 * m * n)
