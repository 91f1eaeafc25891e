"""One cell of the matrix: the wheel as built once, under the torch and Python of the cell.

Unpacks it as an installer does, imports it from there, checks its operators with torch's opcheck,
multiplies, and compares with float64. The versions that a cell asks for must be the ones that run;
they are properties of the report, which tools/dev/matrix.py makes a table of.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tests.packaging import wheels

# Both operands are rounded to e4m3, whose step is 1/8 of the value at most.
FP8_DIFFERENCE = 1e-3
SHAPES = [(1, 64, 128), (37, 129, 256), (128, 96, 384)]


@pytest.fixture(scope="module")
def deep_gemm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The package of the wheel; nothing else of that name is imported in this process."""
    assert "deep_gemm" not in sys.modules
    site = wheels.unpacked(tmp_path_factory.mktemp("installed"))
    sys.path.insert(0, str(site))
    package = importlib.import_module("deep_gemm")
    assert Path(str(package.__file__)).is_relative_to(site)
    yield package
    sys.path.remove(str(site))


def operator(name: str) -> torch._ops.OpOverload:
    ops = importlib.import_module("deep_gemm._ops")
    return getattr(getattr(torch.ops, ops.NAMESPACE), name).default


def bf16(m: int, n: int, k: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(m * 7 + n)
    a = torch.randn(m, k, generator=generator).bfloat16()
    b = torch.randn(n, k, generator=generator).bfloat16()
    return a, b, torch.full((m, n), float("nan"), dtype=torch.bfloat16)


def difference(got: torch.Tensor, want: torch.Tensor) -> float:
    """1 - cosine-like similarity, in float64."""
    x, y = got.double(), want.double()
    return float(1 - 2 * (x * y).sum() / (x.square() + y.square()).sum())


def test_the_versions_are_those_of_the_cell(
    record_testsuite_property: Callable[[str, object], None],
) -> None:
    python = "{}.{}".format(*sys.version_info[:2])
    record_testsuite_property("python", platform.python_version())
    record_testsuite_property("torch", torch.__version__)
    wanted = os.environ.get("DJ_CELL_PYTHON", "")
    assert wanted in ("", "machine", python)
    wanted = os.environ.get("DJ_CELL_TORCH", "")
    assert wanted in ("", "machine") or torch.__version__.startswith(wanted + ".")


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_bf16_product_is_right(deep_gemm: ModuleType, m: int, n: int, k: int) -> None:
    a, b, d = bf16(m, n, k)
    deep_gemm.bf16_gemm_nt(a, b, d)
    torch.testing.assert_close(d.double(), a.double() @ b.double().t(), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_fp8_product_is_right(deep_gemm: ModuleType, m: int, n: int, k: int) -> None:
    a, b, d = bf16(m, n, k)
    a8 = deep_gemm.per_token_cast_to_fp8(a, use_ue8m0=False)
    b8 = deep_gemm.per_block_cast_to_fp8(b, use_ue8m0=False)
    deep_gemm.fp8_gemm_nt(a8, b8, d)
    assert difference(d, a.double() @ b.double().t()) < FP8_DIFFERENCE


def test_opcheck(deep_gemm: ModuleType) -> None:
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


def test_a_compiled_graph_holds_the_operator(deep_gemm: ModuleType) -> None:
    a, b, d = bf16(16, 32, 64)

    def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = torch.empty(x.shape[0], y.shape[0], dtype=torch.bfloat16)
        deep_gemm.bf16_gemm_nt(x, y, out)
        return out

    got = torch.compile(product, fullgraph=True, backend="eager")(a, b)
    deep_gemm.bf16_gemm_nt(a, b, d)
    assert torch.equal(got, d)
