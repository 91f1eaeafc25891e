"""Operands and layouts of grouped GEMMs, and the rows whose value is defined.

    case = MGrouped.make([100, 0, 1], n=48, k=256, dtype="fp8", device="cpu")
    deep_gemm.m_grouped_fp8_gemm_nt_contiguous(case.a, case.b, case.d(), case.labels)
    case.check(d, case.valid)

Padding of a (data and scales) holds NaN, and d starts out as a sentinel: a kernel that reads the
one or forgets the other shows. Everything is seeded by the sizes.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

import deep_gemm
from deep_gemm.reference import dequantise
from tests.support.tolerances import assert_close

SENTINEL = 2.0**99  # no product here comes near
ALIGNMENT = 128


def generator(*key: object) -> torch.Generator:
    """A generator seeded by what it is for."""
    return torch.Generator().manual_seed(zlib.crc32(repr(key).encode()))


def round_up(x: int, to: int = ALIGNMENT) -> int:
    """The next multiple of `to`."""
    return -(-x // to) * to


def quantised(x: torch.Tensor, dtype: str, rows: bool) -> Any:
    """bf16 as it is; FP8 by row (or block) of 128; FP4 by row of 32. Any leading dimensions."""
    if dtype == "bf16":
        return x.bfloat16()
    flat = x.unsqueeze(0) if x.dim() == 2 else x
    if dtype == "fp4":
        pairs = [deep_gemm.per_token_cast_to_fp4(y, use_ue8m0=True, gran_k=32) for y in flat]
    elif rows:
        pairs = [deep_gemm.per_token_cast_to_fp8(y, use_ue8m0=False) for y in flat]
    else:
        pairs = [deep_gemm.per_block_cast_to_fp8(y, use_ue8m0=False) for y in flat]
    data = torch.stack([data for data, _ in pairs]).view(*x.shape[:-2], *pairs[0][0].shape)
    scale = torch.stack([scale for _, scale in pairs])
    return data, scale.view(*x.shape[:-2], *pairs[0][1].shape)


def plain(operand: Any, gran_mn: int, gran_k: int = 128) -> torch.Tensor:
    """float64 values of what `quantised` made."""
    if isinstance(operand, tuple):
        return dequantise(*operand, gran_mn, gran_k)
    return operand.double()


def moved(operand: Any, device: str) -> Any:
    """The operand on another device."""
    if isinstance(operand, tuple):
        return tuple(x.to(device) for x in operand)
    return operand.to(device)


def poison(operand: Any, rows: torch.Tensor) -> Any:
    """The operand with NaN in these rows, of data and scales."""
    if not isinstance(operand, tuple):
        operand = operand.clone()
        operand[rows] = torch.nan
        return operand
    data, scale = (x.clone() for x in operand)
    data.view(torch.uint8)[rows] = 0x7F
    scale[rows] = torch.nan
    return data, scale


@dataclass
class MGrouped:
    """A GEMM grouped along m in both contiguous layouts; `want` is 0 in padding rows."""

    a: Any
    b: Any
    labels: torch.Tensor
    ends: torch.Tensor
    valid: torch.Tensor
    want: torch.Tensor
    magnitude: torch.Tensor
    n: int
    k: int
    is_fp8: bool

    @staticmethod
    def make(
        sizes: Sequence[int],
        n: int,
        k: int,
        dtype: str = "fp8",
        device: str = "cpu",
        tail: int = 0,
        alignment: int = ALIGNMENT,
    ) -> MGrouped:
        """Groups of these sizes, each padded to the alignment, then `tail` more padding rows."""
        g = generator(tuple(sizes), n, k, dtype)
        labels: list[int] = []
        ends = []
        for group, size in enumerate(sizes):
            labels += [group] * size
            ends.append(len(labels))
            labels += [-1] * (round_up(len(labels), alignment) - len(labels))
        labels += [-1] * tail
        layout = torch.tensor(labels, dtype=torch.int32)
        valid = layout >= 0
        a = quantised(torch.randn(len(labels), k, generator=g), dtype, rows=True)
        b = quantised(torch.randn(len(sizes), n, k, generator=g), dtype, rows=False)
        lhs = plain(a, 1, 32 if dtype == "fp4" else 128)
        rhs = plain(b, 1 if dtype == "fp4" else 128, 32 if dtype == "fp4" else 128)
        want = torch.zeros(len(labels), n, dtype=torch.float64)
        magnitude = torch.zeros_like(want)
        for group in range(len(sizes)):
            rows = layout == group
            want[rows] = lhs[rows] @ rhs[group].t()
            magnitude[rows] = lhs[rows].abs() @ rhs[group].abs().t()
        return MGrouped(
            moved(poison(a, ~valid), device),
            moved(b, device),
            layout.to(device),
            torch.tensor(ends, dtype=torch.int32, device=device),
            valid,
            want,
            magnitude,
            n,
            k,
            dtype == "fp8",
        )

    def d(self, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
        """An output full of the sentinel, on the device of the operands."""
        return torch.full(self.want.shape, SENTINEL, dtype=dtype, device=self.labels.device)

    def check(self, d: torch.Tensor, case: str) -> None:
        """Valid rows are right."""
        valid, device = self.valid, d.device
        assert_close(
            d[valid.to(device)],
            self.want[valid].to(device),
            magnitude=self.magnitude[valid].to(device),
            k=self.k,
            case=case,
            fp8=self.is_fp8,
        )


@dataclass
class Masked:
    """A masked GEMM: rows past a group's count hold NaN in a."""

    a: Any
    b: Any
    counts: torch.Tensor
    valid: torch.Tensor
    want: torch.Tensor
    magnitude: torch.Tensor
    k: int
    is_fp8: bool

    @staticmethod
    def make(
        counts: Sequence[int], m: int, n: int, k: int, dtype: str = "fp8", device: str = "cpu"
    ) -> Masked:
        """Groups with room for m rows each."""
        g = generator("masked", tuple(counts), m, n, k, dtype)
        a = quantised(torch.randn(len(counts), m, k, generator=g), dtype, rows=True)
        b = quantised(torch.randn(len(counts), n, k, generator=g), dtype, rows=False)
        layout = torch.tensor(counts, dtype=torch.int32)
        valid = torch.arange(m).unsqueeze(0) < layout.unsqueeze(1)
        lhs = plain(a, 1, 32 if dtype == "fp4" else 128)
        rhs = plain(b, 1 if dtype == "fp4" else 128, 32 if dtype == "fp4" else 128)
        return Masked(
            moved(poison(a, ~valid), device),
            moved(b, device),
            layout.to(device),
            valid,
            lhs @ rhs.transpose(1, 2),
            lhs.abs() @ rhs.abs().transpose(1, 2),
            k,
            dtype == "fp8",
        )

    def d(self, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
        """An output full of the sentinel, on the device of the operands."""
        return torch.full(self.want.shape, SENTINEL, dtype=dtype, device=self.counts.device)

    def check(self, d: torch.Tensor, case: str) -> None:
        """Valid rows are right, all others untouched."""
        valid, device = self.valid, d.device
        past = d[~valid.to(device)]
        assert bool((past == SENTINEL).all()), f"{case}: a row past a count changed"
        assert_close(
            d[valid.to(device)],
            self.want[valid].to(device),
            magnitude=self.magnitude[valid].to(device),
            k=self.k,
            case=case,
            fp8=self.is_fp8,
        )
