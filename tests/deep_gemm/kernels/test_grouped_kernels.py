"""Every kernel that a grouped GEMM can plan on a GPU compiles for its arch, without spills."""

import pytest
import torch

import deep_gemm
from tests.support.nvrtc import Nvrtc, nvrtc_or_skip

FP8, BF16, F32, I32 = torch.float8_e4m3fn, torch.bfloat16, torch.float32, torch.int32


@pytest.fixture(scope="module")
def nvrtc() -> Nvrtc:
    return nvrtc_or_skip()


def described(*sizes: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.empty(sizes, dtype=dtype, device="meta")


def contiguous(arch: str, m: int, psum: bool, out: torch.dtype = BF16) -> dict[str, str]:
    a = described(m, 512, dtype=FP8), described(m, 4, dtype=F32)
    b = described(4, 1024, 512, dtype=FP8), described(4, 8, 4, dtype=F32)
    layout = described(4 if psum else m, dtype=I32)
    return deep_gemm.plan(
        "m_grouped_fp8_gemm_nt_contiguous", a, b, described(m, 1024, dtype=out), layout,
        use_psum_layout=psum, arch=arch,
    )  # fmt: skip


def masked(arch: str, m: int, out: torch.dtype = BF16) -> dict[str, str]:
    a = described(4, m, 512, dtype=FP8), described(4, m, 4, dtype=F32)
    b = described(4, 1024, 512, dtype=FP8), described(4, 8, 4, dtype=F32)
    return deep_gemm.plan(
        "m_grouped_fp8_gemm_nt_masked", a, b, described(4, m, 1024, dtype=out),
        described(4, dtype=I32), 9, arch=arch,
    )  # fmt: skip


def bf16_masked(arch: str, m: int) -> dict[str, str]:
    return deep_gemm.plan(
        "m_grouped_bf16_gemm_nt_masked", described(4, m, 512, dtype=BF16),
        described(4, 1024, 512, dtype=BF16), described(4, m, 1024, dtype=BF16),
        described(4, dtype=I32), 9, arch=arch,
    )  # fmt: skip


def along_k(arch: str) -> list[dict[str, str]]:
    d, layout, ks = described(2, 256, 512, dtype=F32), described(2, dtype=I32), [256, 256]
    flat = [(described(512 * mn, dtype=FP8), described(mn, 4, dtype=F32)) for mn in (256, 512)]
    rows = [(described(512, mn, dtype=FP8), described(4, mn, dtype=F32)) for mn in (256, 512)]
    plain = [described(512, mn, dtype=BF16) for mn in (256, 512)]
    packed = [
        (described(mn, 256, dtype=torch.int8), described(16, mn, dtype=F32)) for mn in (256, 512)
    ]
    return [
        deep_gemm.plan(f"k_grouped_{name}_contiguous", *operands, d, ks, layout, arch=arch)
        for name, operands in (
            ("fp8_gemm_nt", flat), ("fp8_gemm_tn", rows), ("bf16_gemm_tn", plain),
            ("fp4_gemm_nt", packed),
        )
    ]  # fmt: skip


def plans(arch: str) -> list[dict[str, str]]:
    found = along_k(arch)
    for m in (4, 200, 8192):
        for out in (BF16, F32):
            found += [contiguous(arch, m, psum, out) for psum in (False, True)]
            found.append(masked(arch, m, out))
    found += [bf16_masked(arch, m) for m in (4, 8192)]
    return found


@pytest.mark.parametrize("arch", ["80", "90a", "89", "100", "120"])
def test_planned_kernels_compile_without_spills(nvrtc: Nvrtc, arch: str) -> None:
    found = {plan["source"]: plan["plan"] for plan in plans(arch)}
    if arch in ("89", "100", "120"):
        wanted = [*along_k(arch)[:1], contiguous(arch, 8192, False), masked(arch, 8192)]
        found = {plan["source"]: plan["plan"] for plan in wanted}
    for text, line in found.items():
        report = nvrtc.compile(text, arch)
        print(f"{arch}: {report.registers} registers: {line}")
        assert report.spill_bytes == 0 and report.stack_bytes == 0, f"{line}\n{report.log}"
        threads = int(line.split("threads ")[1].split()[0])
        assert report.registers * threads <= 65536, line
