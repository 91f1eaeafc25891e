"""Indexer logits: `{fp8,fp8_fp4}_{,paged_}mqa_logits` and their metadata, for both generations.

logits = fp8_mqa_logits(q, (kv, kv_scale), weights, ks, ke)              # [seq, keys], cleaned
logits = fp8_fp4_mqa_logits((q, None), (kv, kv_scale), weights, ks, ke, max_seqlen_k)
meta = get_paged_mqa_logits_metadata(context_lens, 64, get_num_sms())
logits = fp8_paged_mqa_logits(q, kv_cache, weights, context_lens, table, meta, max_context_len)

The sixth positional argument of `fp8_fp4_mqa_logits` and the eighth of the paged one changed their
meaning between generations: here the type decides, a bool is `clean_logits`.
"""

from __future__ import annotations

from typing import Any

import torch

from .. import _eager, errors
from ._args import Pair, pair, tupled

__all__ = [
    "fp8_fp4_mqa_logits",
    "fp8_fp4_paged_mqa_logits",
    "fp8_mqa_logits",
    "fp8_paged_mqa_logits",
    "get_mqa_logits_metadata",
    "get_paged_mqa_logits_metadata",
]

_FP8_MQA = _eager.operator("fp8_mqa_logits", {1: "kv"})
_FP8_FP4_MQA = _eager.operator("fp8_fp4_mqa_logits")
_FP8_PAGED = _eager.operator("fp8_paged_mqa_logits")
_FP8_FP4_PAGED = _eager.operator("fp8_fp4_paged_mqa_logits")
_METADATA = _eager.operator("get_mqa_logits_metadata")
_PAGED_METADATA = _eager.operator("get_paged_mqa_logits_metadata")


def _query(op: str, q: Any) -> tuple[torch.Tensor, torch.Tensor | None]:
    """(data, scale) of q: a pair whose scale may be None."""
    if isinstance(q, (tuple, list)) and len(q) == 2 and q[1] is None:
        data = q[0]
        if isinstance(data, torch.Tensor):
            return data, None
    return pair(op, "q", q)


def _is_bf16(op: str, logits_dtype: torch.dtype | None, weights: torch.Tensor) -> bool:
    """Without a wish logits have the precision of the weights."""
    if logits_dtype is None:
        return weights.dtype == torch.bfloat16
    if logits_dtype not in (torch.float32, torch.bfloat16):
        raise errors.InvalidArgument(
            errors.describe(
                op,
                "logits_dtype",
                str(logits_dtype),
                "LOGITS_OUTPUT",
                "logits are float32 or bfloat16",
                "pass one of these and cast afterwards",
            )
        )
    return logits_dtype == torch.bfloat16


def _no_columns(data: torch.Tensor, is_bf16: bool) -> torch.Tensor:
    rows = data.size(0)
    return data.new_empty((rows, 0), dtype=torch.bfloat16 if is_bf16 else torch.float32)


def fp8_mqa_logits(
    q: torch.Tensor,
    kv: Pair,
    weights: torch.Tensor,
    cu_seq_len_k_start: torch.Tensor,
    cu_seq_len_k_end: torch.Tensor,
    clean_logits: bool = True,
    max_seqlen_k: int = 0,
) -> torch.Tensor:
    """logits[i, j] = kv_scale[j] * sum over h of weights[i, h] * relu(q[i, h] . kv[j]), float32.

    q float8_e4m3fn [seq, heads, head_dim], kv (float8_e4m3fn [keys, head_dim], float32 [keys]),
    weights [seq, heads], for cu_seq_len_k_start[i] <= j < cu_seq_len_k_end[i]. Outside a row's
    range logits are -inf, or uninitialised without `clean_logits`. With `max_seqlen_k` column j of
    a row is its j-th key, and `clean_logits` must be False. The result is a view with padded rows.
    """
    return _FP8_MQA(
        q, tupled("fp8_mqa_logits", "kv", kv), weights, cu_seq_len_k_start, cu_seq_len_k_end,
        clean_logits, max_seqlen_k,
    )  # fmt: skip


def fp8_fp4_mqa_logits(
    q: Pair,
    kv: Pair,
    weights: torch.Tensor,
    cu_seq_len_k_start: torch.Tensor,
    cu_seq_len_k_end: torch.Tensor,
    clean_logits: bool | int | None = None,
    max_seqlen_k: int | torch.Tensor | None = 0,
    logits_dtype: torch.dtype | None = None,
    schedule_meta: torch.Tensor | None = None,
) -> torch.Tensor:
    """`fp8_mqa_logits` for q (data, None) or (data, scale), FP8 or FP4, logits in either precision.

    With scales of q both operands are quantised per 32 elements: int32 words of four UE8M0
    exponents, [seq, heads] and [keys]. FP4 data is int8 with two values a byte. An int as sixth
    positional argument is `max_seqlen_k`, and the next is `schedule_meta`. Logits are cleaned
    unless they are compressed or `clean_logits` is False, and float32 unless weights are bfloat16
    or `logits_dtype` says so. `schedule_meta` is not needed.
    """
    name = "fp8_fp4_mqa_logits"
    q_data, q_scale = _query(name, q)
    kv_data, kv_scale = pair(name, "kv", kv)
    is_bf16 = _is_bf16(name, logits_dtype, weights)
    if clean_logits is not None and not isinstance(clean_logits, bool):
        # The newer generation: always compressed, even to nothing.
        max_seqlen_k, clean_logits = clean_logits, False
        if max_seqlen_k == 0:
            return _no_columns(q_data, is_bf16)
    clean = max_seqlen_k == 0 if clean_logits is None else clean_logits
    return _FP8_FP4_MQA(
        q_data, q_scale, kv_data, kv_scale, weights, cu_seq_len_k_start, cu_seq_len_k_end,
        clean, max_seqlen_k, is_bf16,
    )  # fmt: skip


def fp8_paged_mqa_logits(
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
    """Logits [batch * next_n, max_context_len] of q [batch, next_n, heads, head_dim] over pages.

    kv_cache is uint8 [blocks, page, 1, head_dim + 4]: a block holds the values of its keys, then
    their float32 scales. Row b * next_n + i reads context_lens[b, i] keys through block_table[b];
    the columns after them are uninitialised. `schedule_meta` comes from
    `get_paged_mqa_logits_metadata`; `indices` does not change the result.
    """
    return _FP8_PAGED(
        q, kv_cache, weights, context_lens, block_table, schedule_meta, max_context_len,
        clean_logits, indices,
    )  # fmt: skip


def fp8_fp4_paged_mqa_logits(
    q: Pair,
    kv_cache: torch.Tensor,
    weights: torch.Tensor,
    context_lens: torch.Tensor,
    block_table: torch.Tensor,
    schedule_meta: torch.Tensor,
    max_context_len: int,
    clean_logits: bool | torch.Tensor | None = False,
    logits_dtype: torch.dtype | None = None,
    indices: torch.Tensor | None = None,
) -> torch.Tensor:
    """`fp8_paged_mqa_logits` for q (data, None) or (data, scale), FP8 or FP4 (as above).

    A tensor (or None) as eighth positional argument is `indices`.
    """
    name = "fp8_fp4_paged_mqa_logits"
    q_data, q_scale = _query(name, q)
    if clean_logits is not None and not isinstance(clean_logits, bool):
        indices, clean_logits = clean_logits, False
    is_bf16 = _is_bf16(name, logits_dtype, weights)
    return _FP8_FP4_PAGED(
        q_data, q_scale, kv_cache, weights, context_lens, block_table, schedule_meta,
        max_context_len, bool(clean_logits), is_bf16, indices,
    )  # fmt: skip


def get_mqa_logits_metadata(
    cu_seq_len_k_start: torch.Tensor,
    cu_seq_len_k_end: torch.Tensor,
    num_kv_tokens: int,
    num_heads: int,
) -> torch.Tensor:
    """What `fp8_fp4_mqa_logits` takes as `schedule_meta`: int32, one element, opaque."""
    return _METADATA(cu_seq_len_k_start, cu_seq_len_k_end, num_kv_tokens, num_heads)


def get_paged_mqa_logits_metadata(
    context_lens: torch.Tensor,
    block_kv: int,
    num_sms: int,
    indices: torch.Tensor | None = None,
) -> torch.Tensor:
    """The schedule of paged logits: int32 [num_sms + 1, 2] on the device of context_lens.

    context_lens is int32 [batch, next_n], the last of a row its longest. Compute it again whenever
    lengths change; one schedule serves every layer. `indices` does not change the result.
    """
    return _PAGED_METADATA(context_lens, block_kv, num_sms, indices)


def described(op: str, given: dict[str, Any]) -> dict[str, torch.Tensor | int | None]:
    """A bound call of `op` by the keys of a `supports` question (csrc/described_logits.cpp)."""
    if op.startswith("fp8_fp4"):
        q, q_scale = _query(op, given["q"])
        is_bf16 = _is_bf16(op, given["logits_dtype"], given["weights"])
    else:
        q, q_scale, is_bf16 = given["q"], None, False
    lines = {"q": q, "q_scale": q_scale, "weights": given["weights"], "bf16_logits": int(is_bf16)}
    if "kv_cache" in given:
        for name in ("kv_cache", "context_lens", "block_table", "schedule_meta", "indices"):
            lines[name] = given[name]
        flag = given["clean_logits"]
        return lines | {"width": given["max_context_len"], "clean_logits": int(flag is True)}
    width, flag = given["max_seqlen_k"], given["clean_logits"]
    if flag is not None and not isinstance(flag, bool):
        width, flag = flag, False
    clean = width == 0 if flag is None else flag
    kv, kv_scale = pair(op, "kv", given["kv"])
    lines |= {"kv": kv, "kv_scale": kv_scale, "width": width, "clean_logits": int(clean)}
    return lines | {"starts": given["cu_seq_len_k_start"], "ends": given["cu_seq_len_k_end"]}
