"""Indexer logits over chosen blocks of keys: `fp8_fp4_{,paged_}sparse_mqa_logits`, and where those
lie.

meta = get_sparse_mqa_logits_metadata(ks, ke, num_keys, blocks, torch.int8, 16)
logits = fp8_fp4_sparse_mqa_logits((q, q_scale), (kv, kv_scale), weights, meta, blocks.size(1), 16)

A row of `blocks` begins with its choice: ids of blocks of its range, as many as the row and the
range have room for. Column j * sparse_block_kv + o of a row is the logit of token o of its j-th
block; it is -inf where that token is outside of the range, and for every other id.
"""

from __future__ import annotations

from typing import Any

import torch

from .. import _eager, _ops, errors
from ._args import Pair, pair
from .logits import _query

__all__ = [
    "fp8_fp4_paged_sparse_mqa_logits",
    "fp8_fp4_sparse_mqa_logits",
    "get_paged_sparse_mqa_logits_metadata",
    "get_sparse_mqa_logits_metadata",
]

_SPARSE = _eager.operator("fp8_fp4_sparse_mqa_logits")
_PAGED_SPARSE = _eager.operator("fp8_fp4_paged_sparse_mqa_logits")
_METADATA = _ops.op("get_sparse_mqa_logits_metadata")
_PAGED_METADATA = _ops.op("get_paged_sparse_mqa_logits_metadata")

_QK_DTYPES = (torch.int8, torch.float8_e4m3fn)


def _require_qk_dtype(op: str, qk_dtype: torch.dtype) -> None:
    if qk_dtype not in _QK_DTYPES:
        raise errors.InvalidArgument(
            errors.describe(
                op,
                "qk_dtype",
                str(qk_dtype),
                "LOGITS_DTYPE",
                "q and the keys are float8_e4m3fn both, or int8 both",
                "pass the dtype of q",
            )
        )


def get_sparse_mqa_logits_metadata(
    cu_seq_len_k_start: torch.Tensor,
    cu_seq_len_k_end: torch.Tensor,
    num_kv_tokens: int,
    sparse_kv_block_indices: torch.Tensor,
    qk_dtype: torch.dtype,
    sparse_block_kv: int,
    use_unaligned_ks: bool = False,
) -> torch.Tensor:
    """Where the chosen blocks of each row lie: uint8, opaque, for any number of calls.

    cu_seq_len_k_start and _end are int32 [seq], sparse_kv_block_indices int32 [seq, blocks],
    contiguous; a block has 8 or 16 keys, counted from key 0, or with `use_unaligned_ks` such that
    one begins at a row's first key. Compute it again when any of them changes.
    """
    _require_qk_dtype("get_sparse_mqa_logits_metadata", qk_dtype)
    try:
        return _METADATA(
            cu_seq_len_k_start, cu_seq_len_k_end, num_kv_tokens, sparse_kv_block_indices,
            sparse_block_kv, use_unaligned_ks,
        )  # fmt: skip
    except RuntimeError as error:
        raise errors.retyped(error) from None


def fp8_fp4_sparse_mqa_logits(
    q: Pair,
    kv: Pair,
    weights: torch.Tensor,
    metadata: torch.Tensor,
    num_max_sparse_blocks: int,
    sparse_block_kv: int,
    use_unaligned_ks: bool = False,
) -> torch.Tensor:
    """`fp8_fp4_mqa_logits` of the keys of chosen blocks: bfloat16 [seq, blocks * block].

    q (data [seq, heads, head_dim], scale) and kv (data [keys, head_dim], scale) as there, MX scales
    or float32 ones of the keys alone. `metadata` knows the ranges, the blocks and whether they are
    aligned. Rows are a multiple of 512 elements apart.
    """
    name = "fp8_fp4_sparse_mqa_logits"
    q_data, q_scale = _query(name, q)
    kv_data, kv_scale = pair(name, "kv", kv)
    try:
        return _SPARSE(
            q_data, q_scale, kv_data, kv_scale, weights, metadata, num_max_sparse_blocks,
            sparse_block_kv,
        )  # fmt: skip
    except RuntimeError as error:
        raise errors.retyped(error) from None


def get_paged_sparse_mqa_logits_metadata(
    context_lens: torch.Tensor,
    block_table: torch.Tensor,
    indices: torch.Tensor | None,
    page_kv: int,
    sparse_kv_block_indices: torch.Tensor,
    qk_dtype: torch.dtype,
    sparse_block_kv: int,
) -> torch.Tensor:
    """The same over pages: int32 context_lens with one length a row, block_table [seq, pages].

    Blocks count from the beginning of a row's context, and pages hold whole blocks. `indices`
    (which rows share a request) does not change the result.
    """
    _require_qk_dtype("get_paged_sparse_mqa_logits_metadata", qk_dtype)
    try:
        return _PAGED_METADATA(
            context_lens.reshape(-1), block_table, indices, page_kv, sparse_kv_block_indices,
            sparse_block_kv,
        )  # fmt: skip
    except RuntimeError as error:
        raise errors.retyped(error) from None


def _rows(data: torch.Tensor, rank: int) -> torch.Tensor:
    """Queries of a batch one below the other."""
    return data.flatten(0, 1) if data.dim() == rank + 1 else data


def fp8_fp4_paged_sparse_mqa_logits(
    q: Pair,
    kv_cache: torch.Tensor,
    weights: torch.Tensor,
    metadata: torch.Tensor,
    num_max_sparse_blocks: int,
    sparse_block_kv: int,
) -> torch.Tensor:
    """`fp8_fp4_sparse_mqa_logits` over pages; q [seq, heads, head_dim] or [batch, next_n, ...].

    kv_cache as in `fp8_paged_mqa_logits`.
    """
    name = "fp8_fp4_paged_sparse_mqa_logits"
    q_data, q_scale = _query(name, q)
    try:
        return _PAGED_SPARSE(
            _rows(q_data, 3), None if q_scale is None else _rows(q_scale, 2), kv_cache, weights,
            metadata, num_max_sparse_blocks, sparse_block_kv,
        )  # fmt: skip
    except RuntimeError as error:
        raise errors.retyped(error) from None


def described(op: str, given: dict[str, Any]) -> dict[str, torch.Tensor | int | None]:
    """A bound call of `op` by the keys of a `supports` question (csrc/described_logits.cpp)."""
    q, q_scale = _query(op, given["q"])
    lines: dict[str, Any] = {"weights": given["weights"], "metadata": given["metadata"]}
    lines |= {"q": _rows(q, 3), "q_scale": None if q_scale is None else _rows(q_scale, 2)}
    lines |= {"width": 0, "clean_logits": 0, "bf16_logits": 1}
    lines |= {"num_sparse_blocks": given["num_max_sparse_blocks"]}
    lines |= {"sparse_block": given["sparse_block_kv"]}
    if "kv_cache" in given:
        return lines | {"kv_cache": given["kv_cache"]}
    kv, kv_scale = pair(op, "kv", given["kv"])
    return lines | {"kv": kv, "kv_scale": kv_scale}


def described_metadata(op: str, given: dict[str, Any]) -> dict[str, torch.Tensor | int | None]:
    """The same of a metadata call (csrc/described_schedule.cpp)."""
    lines = dict(given)
    _require_qk_dtype(op, lines.pop("qk_dtype"))
    if "context_lens" in lines:
        lines["context_lens"] = lines["context_lens"].reshape(-1)
    if "use_unaligned_ks" in lines:
        lines["use_unaligned_ks"] = int(lines["use_unaligned_ks"])
    return lines
