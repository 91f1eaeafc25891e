"""Indexer logits over chosen blocks of keys: float64 references that gather every key.

    tokens, visible = sparse_tokens(starts, ends, blocks, 16)             # [s, blocks * 16] each
    logits = sparse_mqa_logits(q, k, k_scale, weights, starts, ends, blocks, 16, q_scale=q_scale)
    logits = paged_sparse_mqa_logits(q, cache, weights, lens, table, blocks, 16, q_scale=q_scale)

Column j * block_kv + o of a row is the logit of token blocks[row, j] * block_kv + o, shifted by
start % block_kv where blocks begin at the row's first key; -inf where that token is outside
[start, end), and in the columns of entries past the blocks that the range has or outside of them.
"""

from __future__ import annotations

import torch

from ._scales import unpack_data
from .attention import _per_32, split_kv_cache

__all__ = [
    "gathered_mqa_logits",
    "paged_sparse_mqa_logits",
    "sparse_mqa_logits",
    "sparse_tokens",
]


def sparse_tokens(
    starts: torch.Tensor,
    ends: torch.Tensor,
    blocks: torch.Tensor,
    block_kv: int,
    use_unaligned_ks: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(tokens int64, visible bool), both [s, num_blocks * block_kv], of blocks [s, num_blocks]."""
    start, end = (x.long().clamp(min=0).unsqueeze(1) for x in (starts, ends))
    shift = start % block_kv if use_unaligned_ks else torch.zeros_like(start)
    first = start // block_kv
    last = torch.div(end - shift + block_kv - 1, block_kv, rounding_mode="floor")
    order = torch.arange(blocks.size(1), device=blocks.device)
    block = blocks.long()
    chosen = (order < last - first) & (block >= first) & (block < last)
    offset = torch.arange(block_kv, device=blocks.device)
    tokens = (block * block_kv + shift).unsqueeze(2) + offset
    inside = (tokens >= start.unsqueeze(2)) & (tokens < end.unsqueeze(2))
    return tokens.flatten(1), (inside & chosen.unsqueeze(2)).flatten(1)


def gathered_mqa_logits(
    q: torch.Tensor,
    k: torch.Tensor,
    k_scale: torch.Tensor,
    weights: torch.Tensor,
    tokens: torch.Tensor,
    visible: torch.Tensor,
    *,
    q_scale: torch.Tensor | None = None,
    dtype: torch.dtype = torch.float64,
) -> torch.Tensor:
    """[s, c] of q [s, h, d] against the keys k[tokens[s, c]]; -inf where not `visible`."""
    out = torch.full(tokens.shape, -torch.inf, dtype=dtype, device=q.device)
    if k.size(0) == 0:
        return out
    if q_scale is None:
        keys, scale = unpack_data(k, dtype), k_scale.to(dtype)
        queries = unpack_data(q, dtype)
    else:
        keys = _per_32(k, k_scale, dtype)
        scale = torch.ones(k.size(0), dtype=dtype, device=k.device)
        queries = _per_32(q, q_scale, dtype)
    for row in range(q.size(0)):
        at = tokens[row, visible[row]]
        scores = (queries[row] @ keys[at].t()).relu()
        logits = (weights[row].to(dtype).unsqueeze(1) * scores).sum(0)
        out[row, visible[row]] = logits * scale.to(at.device)[at]
    return out


def sparse_mqa_logits(
    q: torch.Tensor,
    k: torch.Tensor,
    k_scale: torch.Tensor,
    weights: torch.Tensor,
    cu_seq_len_k_start: torch.Tensor,
    cu_seq_len_k_end: torch.Tensor,
    blocks: torch.Tensor,
    block_kv: int,
    use_unaligned_ks: bool = False,
    *,
    q_scale: torch.Tensor | None = None,
    dtype: torch.dtype = torch.float64,
) -> torch.Tensor:
    """[s, num_blocks * block_kv] for q [s, h, d], k [t, d], k_scale [t], weights [s, h]."""
    ends = cu_seq_len_k_end.clamp(max=k.size(0))
    tokens, visible = sparse_tokens(cu_seq_len_k_start, ends, blocks, block_kv, use_unaligned_ks)
    return gathered_mqa_logits(
        q, k, k_scale, weights, tokens, visible, q_scale=q_scale, dtype=dtype
    )


def paged_sparse_mqa_logits(
    q: torch.Tensor,
    kv_cache: torch.Tensor,
    weights: torch.Tensor,
    context_lens: torch.Tensor,
    block_table: torch.Tensor,
    blocks: torch.Tensor,
    block_kv: int,
    *,
    q_scale: torch.Tensor | None = None,
    dtype: torch.dtype = torch.float64,
) -> torch.Tensor:
    """The same over pages: q [s, h, d], a row of block_table and a context length a query.

    `blocks` count from the beginning of a context. Pages are a multiple of `block_kv` keys; table
    entries of blocks that are not chosen are not read.
    """
    values, scales = split_kv_cache(
        kv_cache,
        torch.int8 if q.dtype == torch.int8 else torch.float8_e4m3fn,
        torch.float32 if q_scale is None else torch.int32,
    )
    page, lengths = values.size(1), context_lens.flatten()
    tokens, visible = sparse_tokens(torch.zeros_like(lengths), lengths, blocks, block_kv)
    pages = torch.where(visible, tokens // page, 0)
    physical = block_table.long().gather(1, pages) * page + tokens % page
    return gathered_mqa_logits(
        q,
        values.flatten(0, 1),
        scales.flatten(),
        weights,
        physical,
        visible,
        q_scale=q_scale,
        dtype=dtype,
    )
