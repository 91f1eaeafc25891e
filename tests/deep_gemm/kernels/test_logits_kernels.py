"""Every kernel that logits can plan on a GPU compiles for its arch, without spills."""

from typing import Any

import pytest
import torch

import deep_gemm
from tests.support.nvrtc import Nvrtc, nvrtc_or_skip

FP8, FP4, I32 = torch.float8_e4m3fn, torch.int8, torch.int32


@pytest.fixture(scope="module")
def nvrtc() -> Nvrtc:
    return nvrtc_or_skip()


def described(*sizes: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.empty(sizes, dtype=dtype, device="meta")


def query(*sizes: int, kind: str) -> tuple[torch.Tensor, torch.Tensor | None]:
    width = sizes[-1] // (2 if kind == "fp4" else 1)
    data = described(*sizes[:-1], width, dtype=FP4 if kind == "fp4" else FP8)
    return data, None if kind == "fp8" else described(*sizes[:-1], dtype=I32)


def contiguous(arch: str, kind: str, heads: int, dim: int, **more: Any) -> dict[str, str]:
    q = query(512, heads, dim, kind=kind)
    kv, scale = query(4096, dim, kind=kind)
    scale = described(4096, dtype=torch.float32) if scale is None else scale
    weights, ends = described(512, heads, dtype=torch.float32), described(512, dtype=I32)
    return deep_gemm.plan(
        "fp8_fp4_mqa_logits", q, (kv, scale), weights, ends, ends, arch=arch, **more
    )


def paged(arch: str, kind: str, heads: int, dim: int, next_n: int = 1, page: int = 64, **more: Any):
    q = query(64, next_n, heads, dim, kind=kind)
    width = q[0].size(-1) + 4
    sms = {"80": 108, "89": 142, "90a": 132, "100": 148, "120": 188}[arch]
    return deep_gemm.plan(
        "fp8_fp4_paged_mqa_logits",
        q,
        described(1000, page, 1, width, dtype=torch.uint8),
        described(64 * next_n, heads, dtype=torch.float32),
        described(64, next_n, dtype=I32),
        described(64, 4096 // page, dtype=I32),
        described(sms + 1, 2, dtype=I32),
        4096,
        arch=arch,
        **more,
    )


def sparse(arch: str, kind: str, paged: bool) -> dict[str, str]:
    """512 queries of 32 heads, 64 chosen blocks of 16 keys each."""
    q = query(512, 32, 128, kind=kind)
    meta = described(512 * 64 * 8, dtype=torch.uint8)
    rest = described(512, 32, dtype=torch.bfloat16), meta, 64, 16
    if paged:
        cache = described(1000, 64, 1, q[0].size(-1) + 4, dtype=torch.uint8)
        return deep_gemm.plan("fp8_fp4_paged_sparse_mqa_logits", q, cache, *rest, arch=arch)
    kv, scale = query(4096, 128, kind=kind)
    scale = described(4096, dtype=torch.float32) if scale is None else scale
    return deep_gemm.plan("fp8_fp4_sparse_mqa_logits", q, (kv, scale), *rest, arch=arch)


@pytest.mark.parametrize("arch", ["80", "86", "89", "90a", "100", "103", "120"])
@pytest.mark.parametrize("paged", [False, True], ids=["contiguous", "paged"])
@pytest.mark.parametrize("kind", ["fp8", "fp8-mx", "fp4"])
def test_sparse_kernels_compile_without_spills(
    kind: str, paged: bool, arch: str, nvrtc: Nvrtc
) -> None:
    plan = sparse(arch, kind, paged)
    assert plan["plan"].startswith("portable") and "sparse 16" in plan["plan"]
    report = nvrtc.compile(plan["source"], arch)
    assert report.spill_bytes == 0, f"{arch} {plan['plan']}: {report.log}"


PORTABLE = [("fp8", 32), ("fp8", 64), ("fp8", 96), ("fp8", 128), ("fp8-mx", 128), ("fp4", 128)]


@pytest.mark.parametrize(("kind", "dim"), PORTABLE)
def test_portable_kernels_compile_without_spills(kind: str, dim: int, nvrtc: Nvrtc) -> None:
    for plan in (contiguous("80", kind, 24, dim), paged("80", kind, 24, dim)):
        assert plan["plan"].startswith("portable")
        report = nvrtc.compile(plan["source"], "80")
        assert report.spill_bytes == 0, f"{plan['plan']}: {report.log}"


@pytest.mark.parametrize("arch", ["89", "100", "120"])
def test_portable_kernels_compile_for_every_generation(arch: str, nvrtc: Nvrtc) -> None:
    for plan in (contiguous(arch, "fp8", 64, 128), paged(arch, "fp4", 64, 128)):
        report = nvrtc.compile(plan["source"], arch)
        assert report.spill_bytes == 0, f"{arch} {plan['plan']}: {report.log}"


@pytest.mark.parametrize(("heads", "dim"), [(16, 128), (32, 128), (64, 128), (32, 64), (32, 32)])
def test_hopper_kernels_compile_without_spills(heads: int, dim: int, nvrtc: Nvrtc) -> None:
    plans = [contiguous("90a", "fp8", heads, dim), paged("90a", "fp8", heads, dim)]
    if dim == 128:
        plans.append(paged("90a", "fp8", heads, dim, next_n=4))
    if heads == 64:
        plans.append(contiguous("90a", "fp8", heads, dim, logits_dtype=torch.bfloat16))
        plans.append(paged("90a", "fp8", heads, dim, 2, 16, logits_dtype=torch.bfloat16))
    for plan in plans:
        assert plan["plan"].startswith("sm90"), plan["plan"]
        report = nvrtc.compile(plan["source"], "90a")
        assert report.spill_bytes == 0, f"{plan['plan']}: {report.log}"


def test_support_is_answered_for_every_generation() -> None:
    q, kv = query(4, 32, 128, kind="fp8"), query(9, 128, kind="fp8")[0]
    scale, weights = described(9, dtype=torch.float32), described(4, 32, dtype=torch.float32)
    ends = described(4, dtype=I32)
    for arch in ("80", "90a", "100", "120", "x86-64-v3"):
        ok, why = deep_gemm.supports(
            "fp8_mqa_logits", q[0], (kv, scale), weights, ends, ends, arch=arch
        )
        assert ok, why
    ok, why = deep_gemm.supports("fp8_mqa_logits", q[0], (kv, scale), weights, ends, ends[:3])
    assert not ok and "LOGITS_SHAPE" in why
    assert deep_gemm.supports("get_paged_mqa_logits_metadata") == (True, "")


SCHEDULES = [
    ("logits_schedule", "LogitsScheduleParams", "kLogitsScheduleThreads"),
    ("sparse_schedule", "SparseScheduleParams", "kSparseThreads"),
]


@pytest.mark.parametrize("arch", ["80", "90a", "100", "120"])
@pytest.mark.parametrize(("stem", "params", "threads"), SCHEDULES, ids=[s for s, *_ in SCHEDULES])
def test_schedules_compile_without_spills(
    stem: str, params: str, threads: str, arch: str, nvrtc: Nvrtc
) -> None:
    text = f"""#include <deep_gemm/portable/{stem}.cuh>
using namespace deep_gemm;
extern "C" __global__ void __launch_bounds__({threads})
    kernel(const __grid_constant__ {params} params) {{
  portable::{stem}(params);
}}
"""
    report = nvrtc.compile(text, arch)
    assert report.spill_bytes == 0, f"{arch}: {report.log}"
