"""Operands of indexer logits in every format, and the comparison of their tests.

    case = LogitsCase(seq=37, keys=333, heads=32, dim=128, kind="fp4")
    q, kv, weights, starts, ends = case.contiguous("cpu")
    assert_logits_close(got, want, case)

A kind is "fp8" (a float32 scale a key), "fp8-mx" or "fp4" (a UE8M0 scale per 32 elements).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import torch

import deep_gemm
from deep_gemm import reference

KINDS = ["fp8", "fp8-mx", "fp4"]
Pair = tuple[torch.Tensor, Any]


def quantised(x: torch.Tensor, kind: str) -> Pair:
    """(data, None or packed scales [...]) of x [..., dim]."""
    if kind == "fp8":
        return x.to(torch.float8_e4m3fn), None
    cast = deep_gemm.per_token_cast_to_fp4 if kind == "fp4" else deep_gemm.per_token_cast_to_fp8
    flat = x.flatten(0, -2).bfloat16()
    if flat.size(0) == 0:
        width = x.size(-1) // (2 if kind == "fp4" else 1)
        dtype = torch.int8 if kind == "fp4" else torch.float8_e4m3fn
        data = torch.empty(*x.shape[:-1], width, device=x.device).to(dtype)
        return data, torch.empty(x.shape[:-1], dtype=torch.int32, device=x.device)
    data, scale = cast(flat, use_ue8m0=True, gran_k=32, use_packed_ue8m0=True)
    return data.view(*x.shape[:-1], -1), scale.view(x.shape[:-1]).contiguous()


@dataclass(frozen=True)
class LogitsCase:
    """Sizes of one call; prints as the id used in test names."""

    seq: int
    keys: int
    heads: int
    dim: int = 128
    kind: str = "fp8"
    next_n: int = 1
    page: int = 64

    def __str__(self) -> str:
        text = f"s{self.seq}-t{self.keys}-h{self.heads}-d{self.dim}-{self.kind}"
        return (
            text if self.next_n == 1 and self.page == 64 else f"{text}-n{self.next_n}-p{self.page}"
        )

    def generator(self) -> torch.Generator:
        """A generator seeded by the case."""
        return torch.Generator().manual_seed(zlib.crc32(str(self).encode()))

    def contiguous(
        self, device: str
    ) -> tuple[Pair, Pair, torch.Tensor, torch.Tensor, torch.Tensor]:
        """q, kv, weights, starts, ends; some ranges are empty."""
        g = self.generator()
        q = quantised(torch.randn(self.seq, self.heads, self.dim, generator=g), self.kind)
        data, scale = quantised(torch.randn(self.keys, self.dim, generator=g), self.kind)
        if scale is None:
            scale = torch.rand(self.keys, generator=g) + 0.1
        weights = torch.randn(self.seq, self.heads, generator=g)
        starts = torch.randint(0, self.keys // 2 + 1, (self.seq,), generator=g)
        ends = starts + torch.randint(0, self.keys // 2 + 1, (self.seq,), generator=g)
        q = q[0].to(device), None if q[1] is None else q[1].to(device)
        return (
            q,
            (data.to(device), scale.to(device)),
            weights.to(device),
            starts.int().to(device),
            ends.clamp(max=self.keys).int().to(device),
        )

    def paged(self, device: str, lengths: torch.Tensor | None = None) -> dict[str, Any]:
        """The arguments of a paged call by name: `seq` requests of at most `keys` keys."""
        g = self.generator()
        pages = -(-self.keys // self.page) + 1
        blocks = self.seq * pages + 3
        if lengths is None:
            lengths = torch.randint(0, self.keys + 1, (self.seq, self.next_n), generator=g)
            lengths = lengths.sort(1)[0]
            lengths[-1, -1] = self.keys
        q = quantised(
            torch.randn(self.seq, self.next_n, self.heads, self.dim, generator=g), self.kind
        )
        data, scale = quantised(torch.randn(blocks, self.page, self.dim, generator=g), self.kind)
        if scale is None:
            scale = torch.rand(blocks, self.page, generator=g) + 0.1
        width = data.size(-1)
        cache = torch.empty(blocks, self.page * (width + 4), dtype=torch.uint8)
        cache[:, : self.page * width] = data.view(torch.uint8).view(blocks, -1)
        cache[:, self.page * width :] = scale.view(torch.uint8).view(blocks, -1)
        table = torch.randperm(blocks, generator=g)[: self.seq * pages].view(self.seq, pages)
        q = q[0].to(device), None if q[1] is None else q[1].to(device)
        return {
            "q": q,
            "kv_cache": cache.view(blocks, self.page, 1, width + 4).to(device),
            "weights": torch.randn(self.seq * self.next_n, self.heads, generator=g).to(device),
            "context_lens": lengths.int().to(device),
            "block_table": table.int().to(device),
            "max_context_len": self.keys,
        }


def expected(call: tuple) -> torch.Tensor:
    """The reference of a contiguous call, float64, -inf outside."""
    (q, q_scale), (k, k_scale), weights, starts, ends = call
    return reference.mqa_logits(q, k, k_scale, weights, starts, ends, q_scale=q_scale)


def expected_paged(call: dict[str, Any]) -> torch.Tensor:
    """The reference of a paged call, float64, -inf past the lengths."""
    rest = {name: value for name, value in call.items() if name not in ("q", "max_context_len")}
    return reference.paged_mqa_logits(
        call["q"][0],
        **rest,
        max_context_len=call["max_context_len"],
        q_scale=call["q"][1],
    )


def run_paged(call: dict[str, Any], **more: Any) -> torch.Tensor:
    """The operator, with a schedule made for it."""
    page = call["kv_cache"].size(1)
    meta = deep_gemm.get_paged_mqa_logits_metadata(
        call["context_lens"], page, deep_gemm.get_num_sms()
    )
    return deep_gemm.fp8_fp4_paged_mqa_logits(**call, schedule_meta=meta, **more)


def assert_logits_close(got: torch.Tensor, want: torch.Tensor, case: object) -> None:
    """Where `want` is finite: similar to 5e-6 (3e-5 for bfloat16), and no value far off."""
    inside = want != -torch.inf
    got, want = got[inside], want[inside]
    if want.numel() == 0:
        return
    bound = 3e-5 if got.dtype == torch.bfloat16 else 5e-6
    diff = deep_gemm.testing.calc_diff(got, want)
    assert diff < bound, f"{case}: similarity error {diff:.2e}, bound {bound:.0e}"
    scale = want.square().mean().sqrt() + 1e-30
    off = (got.double() - want).abs() / (want.abs() + scale)
    worst = int(off.argmax())
    assert float(off[worst]) < 1e-2, f"{case}: logit {worst}: {got[worst]} is not {want[worst]}"
