"""Indexer logits in plain torch: contiguous and paged (contract 2.11, 2.12).

    want = reference.mqa_logits(q, k, k_scale, weights, ks, ke)      # [s, t], -inf outside
    want = reference.paged_mqa_logits(q, cache, weights, lens, table, width)

logit = k_scale * sum over heads of weight * relu(dot(q, k)). Operands are plain numbers or FP8;
with `q_scale` both are quantised per 32 elements (FP8 or FP4, packed int32 scales) and dequantised
first; then nothing is left to scale.
"""

from __future__ import annotations

import torch

from ._scales import dequantise, unpack_data

__all__ = ["mqa_logits", "paged_mqa_logits", "split_kv_cache"]


def _per_32(data: torch.Tensor, scale: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """data * scale for one int32 word of four UE8M0 exponents a row of `data`."""
    flat = dequantise(data.flatten(0, -2), scale.reshape(-1, 1), 1, 32, dtype)
    return flat.view(*data.shape[:-1], flat.size(-1))


def mqa_logits(
    q: torch.Tensor,
    k: torch.Tensor,
    k_scale: torch.Tensor | None,
    weights: torch.Tensor,
    cu_seq_len_k_start: torch.Tensor,
    cu_seq_len_k_end: torch.Tensor,
    *,
    q_scale: torch.Tensor | None = None,
    dtype: torch.dtype = torch.float64,
) -> torch.Tensor:
    """[s, t] for q [s, h, d], k [t, d], k_scale [t], weights [s, h]; -inf outside [start, end)."""
    if q_scale is not None:
        q, k, k_scale = _per_32(q, q_scale, dtype), _per_32(k, k_scale, dtype), None
    scores = torch.einsum("shd,td->sht", unpack_data(q, dtype), unpack_data(k, dtype)).relu()
    logits = torch.einsum("sht,sh->st", scores, weights.to(dtype))
    if k_scale is not None:
        logits = logits * k_scale.to(dtype)
    column = torch.arange(k.size(0), device=q.device)
    inside = (column >= cu_seq_len_k_start.unsqueeze(1)) & (column < cu_seq_len_k_end.unsqueeze(1))
    return logits.masked_fill(~inside, -torch.inf)


def split_kv_cache(
    kv_cache: torch.Tensor,
    data_dtype: torch.dtype = torch.float8_e4m3fn,
    scale_dtype: torch.dtype = torch.float32,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Paged cache uint8 [blocks, page, 1, width + 4] to (data [blocks, page, width], scales).

    One block holds all its values first, then one 4-byte scale per token.
    """
    num_blocks, page, _, width = kv_cache.shape
    flat = kv_cache.as_strided((num_blocks, page * width), (kv_cache.stride(0), 1))
    values = flat[:, : page * (width - 4)].contiguous().view(data_dtype)
    scales = flat[:, page * (width - 4) :].contiguous().view(scale_dtype)
    return values.view(num_blocks, page, width - 4), scales


def paged_mqa_logits(
    q: torch.Tensor,
    kv_cache: torch.Tensor,
    weights: torch.Tensor,
    context_lens: torch.Tensor,
    block_table: torch.Tensor,
    max_context_len: int,
    *,
    q_scale: torch.Tensor | None = None,
    dtype: torch.dtype = torch.float64,
) -> torch.Tensor:
    """[b * next_n, max_context_len]; columns at or past a row's length are -inf.

    q [b, next_n, h, d], weights [b * next_n, h], context_lens int32 [b, next_n], block_table
    int32 [b, pages]. Table entries past the context are not read.
    """
    values, scales = split_kv_cache(
        kv_cache,
        torch.int8 if q.dtype == torch.int8 else torch.float8_e4m3fn,
        torch.float32 if q_scale is None else torch.int32,
    )
    batch, next_n = q.shape[:2]
    page = values.size(1)
    out = torch.full((batch * next_n, max_context_len), -torch.inf, dtype=dtype, device=q.device)
    for index in range(batch):
        for step in range(next_n):
            length = min(int(context_lens[index, step]), max_context_len)
            pages = block_table[index, : -(-length // page)].long()
            row = index * next_n + step
            out[row, :length] = mqa_logits(
                q[index, step : step + 1],
                values[pages].flatten(0, 1)[:length],
                scales[pages].flatten()[:length],
                weights[row : row + 1],
                torch.zeros(1, dtype=torch.int32, device=q.device),
                torch.full((1,), length, dtype=torch.int32, device=q.device),
                q_scale=None if q_scale is None else q_scale[index, step : step + 1],
                dtype=dtype,
            )[0]
    return out
