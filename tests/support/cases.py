"""Cases that operator tests share: shapes at the edges, and operands for them.

    @pytest.mark.parametrize("case", GEMM_CASES, ids=str)
    def test_...(case): a, b = bf16_operands(case)

Sizes sit on and beside every tile boundary, and at 0 and 1. Operands are seeded by the case, so
that a failure repeats.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class GemmCase:
    """Sizes of one product; prints as the id used in test names."""

    m: int
    n: int
    k: int

    def __str__(self) -> str:
        return f"m{self.m}-n{self.n}-k{self.k}"

    def generator(self) -> torch.Generator:
        """A generator seeded by the case."""
        return torch.Generator("cpu").manual_seed(zlib.crc32(str(self).encode()))


GEMM_CASES = [
    GemmCase(*sizes)
    for sizes in [
        (1, 1, 1),
        (1, 1, 128),
        (1, 2112, 256),
        (2, 3, 5),
        (3, 16, 129),
        (4, 17, 127),
        (5, 31, 128),
        (6, 64, 130),
        (7, 33, 255),
        (8, 96, 384),
        (9, 128, 257),
        (15, 129, 512),
        (16, 255, 64),
        (17, 256, 63),
        (31, 257, 640),
        (63, 65, 1),
        (64, 64, 1024),
        (65, 127, 192),
        (127, 48, 320),
        (128, 128, 128),
        (129, 130, 131),
        (200, 300, 400),
        (1, 576, 1024),
        (257, 8, 16),
    ]
]

EMPTY_CASES = [GemmCase(0, 16, 128), GemmCase(4, 0, 128), GemmCase(0, 0, 0), GemmCase(0, 8, 0)]


def randn(generator: torch.Generator, *shape: int) -> torch.Tensor:
    """Standard normal float32, the same on every device, on the default one."""
    return torch.randn(shape, generator=generator, device="cpu").to(torch.get_default_device())


def poisoned(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    """An output that shows what was not written."""
    return torch.full(shape, float("nan"), dtype=dtype)


def bf16_operands(case: GemmCase) -> tuple[torch.Tensor, torch.Tensor]:
    """a [m, k] and b [n, k] in bfloat16."""
    generator = case.generator()
    a = randn(generator, case.m, case.k).bfloat16()
    return a, randn(generator, case.n, case.k).bfloat16()


def stored(x: torch.Tensor, transposed: bool) -> torch.Tensor:
    """x as an operator with this letter stores it: contiguous, or the transpose made contiguous."""
    return x.transpose(-1, -2).contiguous() if transposed else x.contiguous()
