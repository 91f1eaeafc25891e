"""Fakes of the logits operators, and what they call on machines without a C++ compiler.

    FAKES["fp8_mqa_logits"](q, kv, ...)        # an empty tensor of the right size and strides

`_fake.py` registers both. The row stride is the one of csrc/problem/logits_problem.cpp.
"""

from __future__ import annotations

import torch

from . import reference

__all__ = ["FAKES", "REFERENCES", "REFERENCE_SCHEMAS", "new_logits"]


def _align(x: int, to: int) -> int:
    return (x + to - 1) // to * to


def new_logits(
    like: torch.Tensor, rows: int, width: int, is_exact: bool, is_bf16: bool
) -> torch.Tensor:
    quantum = 512 if is_bf16 else 256
    stride = _align(_align(width, 256) if is_exact else width + 256, quantum)
    dtype = torch.bfloat16 if is_bf16 else torch.float32
    return like.new_empty_strided((rows, width), (stride, 1), dtype=dtype)


def _fp8_fp4_mqa_logits(
    q: torch.Tensor,
    q_scale: torch.Tensor | None,
    kv: torch.Tensor,
    kv_scale: torch.Tensor,
    weights: torch.Tensor,
    cu_seq_len_k_start: torch.Tensor,
    cu_seq_len_k_end: torch.Tensor,
    clean_logits: bool = True,
    max_seqlen_k: int = 0,
    bf16_logits: bool = False,
) -> torch.Tensor:
    if max_seqlen_k == 0:
        return new_logits(q, q.size(0), kv.size(0), False, bf16_logits)
    return new_logits(q, q.size(0), max_seqlen_k, True, bf16_logits)


def _fp8_mqa_logits(
    q: torch.Tensor,
    kv: torch.Tensor,
    kv_scale: torch.Tensor,
    weights: torch.Tensor,
    cu_seq_len_k_start: torch.Tensor,
    cu_seq_len_k_end: torch.Tensor,
    clean_logits: bool = True,
    max_seqlen_k: int = 0,
) -> torch.Tensor:
    return _fp8_fp4_mqa_logits(
        q, None, kv, kv_scale, weights, cu_seq_len_k_start, cu_seq_len_k_end, clean_logits,
        max_seqlen_k,
    )  # fmt: skip


def _fp8_fp4_paged_mqa_logits(
    q: torch.Tensor,
    q_scale: torch.Tensor | None,
    kv_cache: torch.Tensor,
    weights: torch.Tensor,
    context_lens: torch.Tensor,
    block_table: torch.Tensor,
    schedule_meta: torch.Tensor,
    max_context_len: int,
    clean_logits: bool = False,
    bf16_logits: bool = False,
    indices: torch.Tensor | None = None,
) -> torch.Tensor:
    return new_logits(q, q.size(0) * q.size(1), max_context_len, True, bf16_logits)


def _fp8_paged_mqa_logits(
    q: torch.Tensor,
    kv_cache: torch.Tensor,
    weights: torch.Tensor,
    context_lens: torch.Tensor,
    block_table: torch.Tensor,
    schedule_meta: torch.Tensor,
    max_context_len: int,
    clean_logits: bool = False,
    indices: torch.Tensor | None = None,
) -> torch.Tensor:
    return new_logits(q, q.size(0) * q.size(1), max_context_len, True, False)


def _get_mqa_logits_metadata(
    cu_seq_len_k_start: torch.Tensor,
    cu_seq_len_k_end: torch.Tensor,
    num_kv_tokens: int,
    num_heads: int,
) -> torch.Tensor:
    return cu_seq_len_k_start.new_empty((1,), dtype=torch.int32)


def _get_paged_mqa_logits_metadata(
    context_lens: torch.Tensor,
    block_kv: int,
    num_sms: int,
    indices: torch.Tensor | None = None,
) -> torch.Tensor:
    return context_lens.new_empty((num_sms + 1, 2), dtype=torch.int32)


FAKES = {
    "fp8_mqa_logits": _fp8_mqa_logits,
    "fp8_fp4_mqa_logits": _fp8_fp4_mqa_logits,
    "get_mqa_logits_metadata": _get_mqa_logits_metadata,
    "fp8_paged_mqa_logits": _fp8_paged_mqa_logits,
    "fp8_fp4_paged_mqa_logits": _fp8_fp4_paged_mqa_logits,
    "get_paged_mqa_logits_metadata": _get_paged_mqa_logits_metadata,
}

REFERENCE_SCHEMAS = {
    "_reference_mqa_logits": (
        "(Tensor q, Tensor? q_scale, Tensor kv, Tensor kv_scale, Tensor weights, Tensor starts,"
        " Tensor ends, Tensor(d!) logits, bool is_compressed, bool is_clean) -> ()"
    ),
    "_reference_paged_mqa_logits": (
        "(Tensor q, Tensor? q_scale, Tensor kv_cache, Tensor weights, Tensor context_lens,"
        " Tensor block_table, Tensor(d!) logits) -> ()"
    ),
    "_reference_logits_schedule": "(Tensor context_lens, Tensor(d!) schedule) -> ()",
}


def _reference_mqa_logits(
    q: torch.Tensor,
    q_scale: torch.Tensor | None,
    kv: torch.Tensor,
    kv_scale: torch.Tensor,
    weights: torch.Tensor,
    starts: torch.Tensor,
    ends: torch.Tensor,
    logits: torch.Tensor,
    is_compressed: bool,
    is_clean: bool,
) -> None:
    want = reference.mqa_logits(
        q, kv, kv_scale, weights, starts, ends, q_scale=q_scale, dtype=torch.float32
    )
    if not is_compressed:
        logits.copy_(want)
        return
    column = torch.arange(logits.size(1), device=starts.device).unsqueeze(0)
    column = column + starts.clamp(min=0).long().unsqueeze(1)
    logits.copy_(want.gather(1, column.clamp(max=want.size(1) - 1)))


def _reference_paged_mqa_logits(
    q: torch.Tensor,
    q_scale: torch.Tensor | None,
    kv_cache: torch.Tensor,
    weights: torch.Tensor,
    context_lens: torch.Tensor,
    block_table: torch.Tensor,
    logits: torch.Tensor,
) -> None:
    logits.copy_(
        reference.paged_mqa_logits(
            q,
            kv_cache,
            weights,
            context_lens,
            block_table,
            logits.size(1),
            q_scale=q_scale,
            dtype=torch.float32,
        )
    )


def _reference_logits_schedule(context_lens: torch.Tensor, schedule: torch.Tensor) -> None:
    tiles = (context_lens[:, -1].clamp(min=0).long() + 63) // 64
    ends = tiles.cumsum(0)
    slots = schedule.size(0) - 1
    total = int(ends[-1]) if ends.numel() else 0
    target = total * torch.arange(slots + 1, device=ends.device) // slots
    request = torch.searchsorted(ends, target, right=True)
    before = torch.cat([ends.new_zeros(1), ends])[request]
    schedule[:, 0] = request
    schedule[:, 1] = torch.where(request < tiles.numel(), target - before, 0)


REFERENCES = {
    "_reference_mqa_logits": _reference_mqa_logits,
    "_reference_paged_mqa_logits": _reference_paged_mqa_logits,
    "_reference_logits_schedule": _reference_logits_schedule,
}
