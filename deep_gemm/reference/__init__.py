"""The definition of right: each operator in plain torch, float64 unless asked otherwise."""

from ._scales import dequantise, expand_scale, unpack_data
from .attention import mqa_logits, paged_mqa_logits, split_kv_cache
from .einsum import einsum, fp8_einsum
from .gate import bf16_mega_gate, gate_choice
from .gemm import bf16_gemm, fp8_gemm
from .grouped import k_grouped, m_grouped_contiguous, m_grouped_masked, psum_ranges
from .hyperconnection import round_tf32, tf32_hc_prenorm_gemm
from .sparse_attention import (
    gathered_mqa_logits,
    paged_sparse_mqa_logits,
    sparse_mqa_logits,
    sparse_tokens,
)

__all__ = [
    "bf16_gemm",
    "bf16_mega_gate",
    "dequantise",
    "einsum",
    "expand_scale",
    "fp8_einsum",
    "fp8_gemm",
    "gate_choice",
    "gathered_mqa_logits",
    "k_grouped",
    "m_grouped_contiguous",
    "m_grouped_masked",
    "mqa_logits",
    "paged_mqa_logits",
    "paged_sparse_mqa_logits",
    "psum_ranges",
    "round_tf32",
    "sparse_mqa_logits",
    "sparse_tokens",
    "split_kv_cache",
    "tf32_hc_prenorm_gemm",
    "unpack_data",
]
