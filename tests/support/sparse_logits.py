"""Operands of sparse logits: the calls of tests/support/logits.py with a choice of blocks.

case = SparseCase(LogitsCase(37, 333, 32, kind="fp4"), num_blocks=8, block=16)
call = case.contiguous("cpu")
got, want = run(call), expected(call)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

import deep_gemm
from deep_gemm import reference
from tests.support.logits import LogitsCase


def chosen(
    starts: torch.Tensor,
    ends: torch.Tensor,
    num_blocks: int,
    block: int,
    unaligned: bool,
    generator: torch.Generator,
) -> torch.Tensor:
    """int32 [rows, num_blocks]: sorted ids inside each range, then ids that mean nothing."""
    out = torch.randint(-5, 1 << 20, (starts.size(0), num_blocks), generator=generator)
    for row, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        shift = start % block if unaligned else 0
        first, last = start // block, -(-(end - shift) // block)
        if end <= start:
            continue
        picked = torch.randperm(last - first, generator=generator)[:num_blocks].sort().values
        out[row, : picked.numel()] = picked + first
    return out.int()


@dataclass(frozen=True)
class SparseCase:
    """Sizes of one call; prints as the id used in test names."""

    base: LogitsCase
    num_blocks: int
    block: int
    unaligned: bool = False

    def __str__(self) -> str:
        return f"{self.base}-b{self.num_blocks}x{self.block}{'-unaligned' * self.unaligned}"

    def contiguous(self, device: str) -> dict[str, Any]:
        """Everything that a contiguous call and its metadata take, by name."""
        q, kv, weights, starts, ends = self.base.contiguous("cpu")
        blocks = chosen(
            starts, ends, self.num_blocks, self.block, self.unaligned, self.base.generator()
        )
        call = {"q": q, "kv": kv, "weights": weights, "starts": starts, "ends": ends}
        return _moved(call | {"blocks": blocks, "block": self.block}, device) | {
            "unaligned": self.unaligned
        }

    def paged(self, device: str) -> dict[str, Any]:
        """The same of a paged call."""
        paged = self.base.paged("cpu")
        lens = paged["context_lens"].flatten()
        blocks = chosen(
            torch.zeros_like(lens), lens, self.num_blocks, self.block, False, self.base.generator()
        )
        q = tuple(None if x is None else x.flatten(0, 1) for x in paged["q"])
        call = {"q": q, "kv_cache": paged["kv_cache"], "weights": paged["weights"], "lens": lens}
        call |= {"table": paged["block_table"], "blocks": blocks, "block": self.block}
        return _moved(call, device)


def _moved(call: dict[str, Any], device: str) -> dict[str, Any]:
    def move(x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(move(y) for y in x)
        return x.to(device) if isinstance(x, torch.Tensor) else x

    return {name: move(x) for name, x in call.items()}


def metadata(call: dict[str, Any]) -> torch.Tensor:
    """Of either kind of call."""
    dtype = call["q"][0].dtype
    if "lens" not in call:
        return deep_gemm.get_sparse_mqa_logits_metadata(
            call["starts"], call["ends"], call["kv"][0].size(0), call["blocks"], dtype,
            call["block"], call["unaligned"],
        )  # fmt: skip
    rows = torch.arange(call["lens"].size(0), dtype=torch.int32, device=call["lens"].device)
    return deep_gemm.get_paged_sparse_mqa_logits_metadata(
        call["lens"], call["table"], rows, call["kv_cache"].size(1), call["blocks"], dtype,
        call["block"],
    )  # fmt: skip


def run(call: dict[str, Any], meta: torch.Tensor | None = None) -> torch.Tensor:
    """The operator of either kind of call."""
    meta = metadata(call) if meta is None else meta
    rest = call["weights"], meta, call["blocks"].size(1), call["block"]
    if "lens" in call:
        return deep_gemm.fp8_fp4_paged_sparse_mqa_logits(call["q"], call["kv_cache"], *rest)
    return deep_gemm.fp8_fp4_sparse_mqa_logits(call["q"], call["kv"], *rest, call["unaligned"])


def expected(call: dict[str, Any]) -> torch.Tensor:
    """The reference, float64."""
    q, q_scale = call["q"]
    if "lens" in call:
        return reference.paged_sparse_mqa_logits(
            q, call["kv_cache"], call["weights"], call["lens"], call["table"], call["blocks"],
            call["block"], q_scale=q_scale,
        )  # fmt: skip
    return reference.sparse_mqa_logits(
        q, *call["kv"], call["weights"], call["starts"], call["ends"], call["blocks"],
        call["block"], call["unaligned"], q_scale=q_scale,
    )  # fmt: skip
