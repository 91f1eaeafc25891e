"""Every kernel that a dense GEMM can plan on a GPU compiles for its arch, without spills."""

import pytest
import torch

import deep_gemm
from tests.support.nvrtc import Nvrtc, nvrtc_or_skip

FP8, FP4, BF16, F32 = torch.float8_e4m3fn, torch.int8, torch.bfloat16, torch.float32
Pair = tuple[torch.Tensor, torch.Tensor]


@pytest.fixture(scope="module")
def nvrtc() -> Nvrtc:
    return nvrtc_or_skip()


def described(*sizes: int, dtype: torch.dtype, pitch: int = 0) -> torch.Tensor:
    """A tensor without memory, whose rows are `pitch` elements longer than its columns."""
    rows, columns = sizes
    return torch.empty(rows, columns + pitch, dtype=dtype, device="meta")[:, :columns]


def operand(rows: int, k: int, dtype: torch.dtype, gran: tuple[int, int], turned: bool) -> Pair:
    data = described(rows, k // (2 if dtype == FP4 else 1), dtype=dtype)
    if turned and dtype == FP4:
        data = described(k, rows // 2, dtype=dtype)
    elif turned:
        data = described(k, rows, dtype=dtype)
    scale = described(-(-rows // gran[0]), -(-k // gran[1]), dtype=F32)
    return data, scale.t() if turned else scale


def scaled_plan(
    m: int, arch: str, a: torch.dtype, b: torch.dtype, letters: str = "nt", gran_k: int = 128,
    out: torch.dtype = BF16, k: int = 512,
) -> dict[str, str]:  # fmt: skip
    recipe_a, recipe_b = (1, gran_k), (1 if b == FP4 else 128, gran_k)
    pairs = (
        operand(m, k, a, recipe_a, letters[0] == "t"),
        operand(1024, k, b, recipe_b, letters[1] == "n"),
    )
    name = f"fp8_fp4_gemm_{letters}"
    d = described(m, 1024, dtype=out)
    return deep_gemm.plan(name, *pairs, d, recipe_a=recipe_a, recipe_b=recipe_b, arch=arch)


def bf16_plan(m: int, arch: str, letters: str = "nt", pitch: int = 0) -> dict[str, str]:
    sizes_a = (512, m) if letters[0] == "t" else (m, 512)
    sizes_b = (512, 4096) if letters[1] == "n" else (4096, 512)
    a, b = (described(*sizes, dtype=BF16, pitch=pitch) for sizes in (sizes_a, sizes_b))
    return deep_gemm.plan(f"bf16_gemm_{letters}", a, b, described(m, 4096, dtype=BF16), arch=arch)


ROWS = [1, 128, 8192]  # one of each tile


def plans(arch: str) -> list[dict[str, str]]:
    """Types, orders, accesses, granularities and tiles, each with the values it can have."""
    found = [scaled_plan(m, arch, FP8, FP8) for m in [*ROWS, 64, 256, 4000]]
    found += [scaled_plan(m, arch, FP8, FP8, out=F32) for m in ROWS]
    found += [scaled_plan(m, arch, FP8, FP4, gran_k=32) for m in ROWS]
    found += [bf16_plan(m, arch) for m in ROWS]
    found += [bf16_plan(m, arch, pitch=1) for m in (1, 8192)]
    found += [scaled_plan(8192, arch, FP8, FP8, letters) for letters in ("nn", "tn", "tt")]
    found += [scaled_plan(m, arch, FP8, FP8, k=520 - 7) for m in (1, 8192)]
    found += [bf16_plan(8192, arch, letters) for letters in ("nn", "tn", "tt")]
    found += [bf16_plan(8192, arch, "tn", 1)]
    found += [scaled_plan(8192, arch, FP4, FP4, "tn", 32), scaled_plan(2, arch, FP4, FP4, "tn", 32)]
    found += [scaled_plan(8192, arch, FP8, FP8, gran_k=64)]
    return found


def sources(arch: str) -> dict[str, str]:
    return {plan["source"]: plan["plan"] for plan in plans(arch)}


# The whole list where portable code differs by generation; the rest in tiles of the largest kind.
WHOLE, PART = ["80", "90a"], ["86", "89", "100", "103", "120"]


@pytest.mark.parametrize("arch", [*WHOLE, *PART])
def test_planned_kernels_compile_without_spills(nvrtc: Nvrtc, arch: str) -> None:
    found = sources(arch)
    if arch in PART:
        wanted = [
            scaled_plan(8192, arch, FP8, FP8), scaled_plan(8192, arch, FP8, FP4, gran_k=32),
            bf16_plan(8192, arch), scaled_plan(1, arch, FP8, FP8, k=513),
        ]  # fmt: skip
        found = {plan["source"]: plan["plan"] for plan in wanted}
    for text, line in found.items():
        report = nvrtc.compile(text, arch)
        print(f"{arch}: {report.registers} registers: {line}")
        assert report.spill_bytes == 0 and report.stack_bytes == 0, f"{line}\n{report.log}"
        threads = int(line.split("threads ")[1].split()[0])
        assert report.registers * threads <= 65536, line


def test_any_number_of_rows_needs_few_kernels_on_hopper() -> None:
    for n, k in ((2112, 7168), (576, 7168), (24576, 1536), (7168, 2048)):
        b = operand(n, k, FP8, (128, 128), False)
        seen = set()
        for m in [*range(1, 700), *range(700, 16385, 61)]:
            a = operand(m, k, FP8, (1, 128), False)
            d = described(m, n, dtype=BF16)
            seen.add(deep_gemm.plan("fp8_gemm_nt", a, b, d, arch="90a")["source"])
        assert len(seen) <= 8, (n, k, len(seen))


def test_an_old_gpu_is_refused_by_rule() -> None:
    ok, why = deep_gemm.supports(
        "fp8_gemm_nt",
        operand(64, 512, FP8, (1, 128), False),
        operand(64, 512, FP8, (128, 128), False),
        described(64, 64, dtype=BF16),
        arch="75",
    )
    assert not ok and "NO_KERNEL_FOR_DEVICE" in why
