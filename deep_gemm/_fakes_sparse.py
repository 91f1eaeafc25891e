"""Fakes of sparse logits, and what they call on machines without a C++ compiler.

    FAKES["fp8_fp4_sparse_mqa_logits"](q, ...)     # an empty tensor of the right size and strides

`_fake.py` registers both. Metadata are the entries of include/deep_gemm/abi/sparse_params.h.
"""

from __future__ import annotations

import torch

from . import reference
from ._fakes_logits import new_logits

__all__ = ["FAKES", "REFERENCES", "REFERENCE_SCHEMAS"]

_ENTRY_BYTES = 8


def _get_sparse_mqa_logits_metadata(
    cu_seq_len_k_start: torch.Tensor,
    cu_seq_len_k_end: torch.Tensor,
    num_kv_tokens: int,
    sparse_kv_block_indices: torch.Tensor,
    sparse_block_kv: int,
    use_unaligned_ks: bool = False,
) -> torch.Tensor:
    return _new_sparse_metadata(sparse_kv_block_indices)


def _get_paged_sparse_mqa_logits_metadata(
    context_lens: torch.Tensor,
    block_table: torch.Tensor,
    indices: torch.Tensor | None,
    page_kv: int,
    sparse_kv_block_indices: torch.Tensor,
    sparse_block_kv: int,
) -> torch.Tensor:
    return _new_sparse_metadata(sparse_kv_block_indices)


def _new_sparse_metadata(blocks: torch.Tensor) -> torch.Tensor:
    return blocks.new_empty((blocks.size(0) * blocks.size(1) * _ENTRY_BYTES,), dtype=torch.uint8)


def _fp8_fp4_sparse_mqa_logits(
    q: torch.Tensor,
    q_scale: torch.Tensor | None,
    kv: torch.Tensor,
    kv_scale: torch.Tensor,
    weights: torch.Tensor,
    metadata: torch.Tensor,
    num_max_sparse_blocks: int,
    sparse_block_kv: int,
) -> torch.Tensor:
    return new_logits(q, q.size(0), num_max_sparse_blocks * sparse_block_kv, True, True)


def _fp8_fp4_paged_sparse_mqa_logits(
    q: torch.Tensor,
    q_scale: torch.Tensor | None,
    kv_cache: torch.Tensor,
    weights: torch.Tensor,
    metadata: torch.Tensor,
    num_max_sparse_blocks: int,
    sparse_block_kv: int,
) -> torch.Tensor:
    return new_logits(q, q.size(0), num_max_sparse_blocks * sparse_block_kv, True, True)


FAKES = {
    "get_sparse_mqa_logits_metadata": _get_sparse_mqa_logits_metadata,
    "get_paged_sparse_mqa_logits_metadata": _get_paged_sparse_mqa_logits_metadata,
    "fp8_fp4_sparse_mqa_logits": _fp8_fp4_sparse_mqa_logits,
    "fp8_fp4_paged_sparse_mqa_logits": _fp8_fp4_paged_sparse_mqa_logits,
}

REFERENCE_SCHEMAS = {
    "_reference_sparse_mqa_logits": (
        "(Tensor q, Tensor? q_scale, Tensor kv, Tensor? kv_scale, Tensor weights, Tensor metadata,"
        " Tensor(d!) logits, int block_kv) -> ()"
    ),
    "_reference_sparse_schedule": (
        "(Tensor? starts, Tensor ends, Tensor? table, Tensor blocks, Tensor(d!) metadata, int keys,"
        " int page, int block_kv, bool is_unaligned) -> ()"
    ),
}


def _reference_sparse_schedule(
    starts: torch.Tensor | None,
    ends: torch.Tensor,
    table: torch.Tensor | None,
    blocks: torch.Tensor,
    metadata: torch.Tensor,
    keys: int,
    page: int,
    block_kv: int,
    is_unaligned: bool,
) -> None:
    """Writes entries: int32 first token, then int16 bounds of what is visible of the block."""
    starts = torch.zeros_like(ends) if starts is None else starts
    tokens, visible = reference.sparse_tokens(
        starts, ends.clamp(max=keys), blocks, block_kv, is_unaligned
    )
    tokens, visible = (x.view(*blocks.shape, block_kv) for x in (tokens, visible))
    first = torch.where(visible.any(-1), tokens[..., 0], 0)
    if table is not None:
        pages = table.long().gather(1, first // page)
        first = torch.where(visible.any(-1), (pages * page + first % page) // block_kv, 0)
    count = visible.sum(-1)
    low = torch.where(count > 0, visible.int().argmax(-1), 0)
    entries = metadata.view(torch.int32).view(*blocks.shape, 2)
    entries[..., 0] = first
    entries[..., 1] = low + ((low + count) << 16)


def _reference_sparse_mqa_logits(
    q: torch.Tensor,
    q_scale: torch.Tensor | None,
    kv: torch.Tensor,
    kv_scale: torch.Tensor | None,
    weights: torch.Tensor,
    metadata: torch.Tensor,
    logits: torch.Tensor,
    block_kv: int,
) -> None:
    entries = metadata.view(torch.int32).view(q.size(0), -1, 2).long()
    offset = torch.arange(block_kv, device=kv.device)
    first, low, high = entries[..., :1], entries[..., 1:] & 0xFFFF, entries[..., 1:] >> 16
    if kv_scale is None:
        values, scales = reference.split_kv_cache(
            kv,
            torch.int8 if q.dtype == torch.int8 else torch.float8_e4m3fn,
            torch.float32 if q_scale is None else torch.int32,
        )
        kv, kv_scale, first = values.flatten(0, 1), scales.flatten(), first * block_kv
    want = reference.gathered_mqa_logits(
        q,
        kv,
        kv_scale,
        weights,
        (first + offset).flatten(1),
        ((offset >= low) & (offset < high)).flatten(1),
        q_scale=q_scale,
        dtype=torch.float32,
    )
    logits.copy_(want)


REFERENCES = {
    "_reference_sparse_schedule": _reference_sparse_schedule,
    "_reference_sparse_mqa_logits": _reference_sparse_mqa_logits,
}
