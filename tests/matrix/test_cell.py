"""One cell of the matrix: the extension as built once, under the torch and Python of the cell.

Imports it, checks its operators with torch's opcheck, multiplies, and compares with float64. The
versions that a cell asks for must be the ones that run; they are printed.
"""

from __future__ import annotations

import os
import sys

import pytest
import torch

import deep_gemm
from deep_gemm import _ops

# Both operands are rounded to e4m3, whose step is 1/8 of the value at most.
FP8_DIFFERENCE = 1e-3
SHAPES = [(1, 64, 128), (37, 129, 256), (128, 96, 384)]


def operator(name: str) -> torch._ops.OpOverload:
    return getattr(getattr(torch.ops, _ops.NAMESPACE), name).default


def bf16(m: int, n: int, k: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(m * 7 + n)
    a = torch.randn(m, k, generator=generator).bfloat16()
    b = torch.randn(n, k, generator=generator).bfloat16()
    return a, b, torch.full((m, n), float("nan"), dtype=torch.bfloat16)


def difference(got: torch.Tensor, want: torch.Tensor) -> float:
    """1 - cosine-like similarity, in float64."""
    x, y = got.double(), want.double()
    return float(1 - 2 * (x * y).sum() / (x.square() + y.square()).sum())


def test_the_versions_are_those_of_the_cell(capsys: pytest.CaptureFixture[str]) -> None:
    python = "{}.{}".format(*sys.version_info[:2])
    with capsys.disabled():
        print(f"\npython {sys.version.split()[0]}, torch {torch.__version__}")
    wanted = os.environ.get("DJ_CELL_PYTHON", "")
    assert wanted in ("", "machine", python)
    wanted = os.environ.get("DJ_CELL_TORCH", "")
    assert wanted in ("", "machine") or torch.__version__.startswith(wanted + ".")


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_bf16_product_is_right(m: int, n: int, k: int) -> None:
    a, b, d = bf16(m, n, k)
    deep_gemm.bf16_gemm_nt(a, b, d)
    torch.testing.assert_close(d.double(), a.double() @ b.double().t(), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_fp8_product_is_right(m: int, n: int, k: int) -> None:
    a, b, d = bf16(m, n, k)
    a8 = deep_gemm.per_token_cast_to_fp8(a, use_ue8m0=False)
    b8 = deep_gemm.per_block_cast_to_fp8(b, use_ue8m0=False)
    deep_gemm.fp8_gemm_nt(a8, b8, d)
    assert difference(d, a.double() @ b.double().t()) < FP8_DIFFERENCE


def test_opcheck() -> None:
    args = bf16(128, 128, 128)
    torch.library.opcheck(operator("bf16_gemm_nt"), (args[0], args[1], torch.zeros_like(args[2])))
    a, b, d = args
    scaled = (
        *deep_gemm.per_token_cast_to_fp8(a, use_ue8m0=False),
        *deep_gemm.per_block_cast_to_fp8(b, use_ue8m0=False),
        torch.zeros_like(d),
    )
    # test_schema compares copies of the arguments, which torch cannot do for 8-bit floats.
    checks = ["test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"]
    torch.library.opcheck(operator("fp8_gemm_nt"), scaled, test_utils=checks)


def test_a_compiled_graph_holds_the_operator() -> None:
    a, b, d = bf16(16, 32, 64)

    def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = torch.empty(x.shape[0], y.shape[0], dtype=torch.bfloat16)
        deep_gemm.bf16_gemm_nt(x, y, out)
        return out

    got = torch.compile(product, fullgraph=True, backend="eager")(a, b)
    deep_gemm.bf16_gemm_nt(a, b, d)
    assert torch.equal(got, d)
