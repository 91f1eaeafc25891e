"""The facade: every published operator under its published signature.

    from deep_gemm import _C
    _C.fp8_gemm_nt((a, a_scale), (b, b_scale), d)

A table of contents: each family's functions are in `_facade/<family>.py`, which serve both
generations of the interface (positional order and keywords), take `(tensor, scale)` pairs apart,
flatten recipes and re-raise errors of the C++ side typed. Shapes, dtypes, strides and devices are
checked there, once; the definition of right is `deep_gemm.reference`.
"""

# ruff: noqa: N999  (the published name of this module)

from __future__ import annotations

from . import _fake, _ops
from ._facade.dense import (
    bf16_gemm_nn,
    bf16_gemm_nt,
    bf16_gemm_tn,
    bf16_gemm_tt,
    fp4_gemm_nt,
    fp8_fp4_gemm_nn,
    fp8_fp4_gemm_nt,
    fp8_fp4_gemm_tn,
    fp8_fp4_gemm_tt,
    fp8_gemm_nn,
    fp8_gemm_nt,
    fp8_gemm_tn,
    fp8_gemm_tt,
)
from ._facade.einsum import einsum, fp8_einsum
from ._facade.gate import bf16_mega_gate
from ._facade.grouped import (
    bf16_m_grouped_gemm_nt_masked,
    fp8_m_grouped_gemm_nt_masked,
    m_grouped_bf16_gemm_nn_contiguous,
    m_grouped_bf16_gemm_nt_contiguous,
    m_grouped_bf16_gemm_nt_masked,
    m_grouped_fp4_gemm_nt_contiguous,
    m_grouped_fp4_gemm_nt_masked,
    m_grouped_fp8_fp4_gemm_nn_contiguous,
    m_grouped_fp8_fp4_gemm_nt_contiguous,
    m_grouped_fp8_fp4_gemm_nt_masked,
    m_grouped_fp8_gemm_nn_contiguous,
    m_grouped_fp8_gemm_nt_contiguous,
    m_grouped_fp8_gemm_nt_masked,
)
from ._facade.hyperconnection import tf32_hc_prenorm_gemm
from ._facade.k_grouped import (
    k_grouped_bf16_gemm_tn_contiguous,
    k_grouped_fp4_gemm_nt_contiguous,
    k_grouped_fp8_gemm_nt_contiguous,
    k_grouped_fp8_gemm_tn_contiguous,
)
from ._facade.logits import (
    fp8_fp4_mqa_logits,
    fp8_fp4_paged_mqa_logits,
    fp8_mqa_logits,
    fp8_paged_mqa_logits,
    get_mqa_logits_metadata,
    get_paged_mqa_logits_metadata,
)
from ._facade.mega import (
    get_ring_limit_for_mega_moe,
    get_symm_buffer_size_for_mega_moe,
    get_symm_buffer_size_for_nvfp4_mega_moe,
    get_token_alignment_for_mega_moe,
)
from ._facade.nvfp4 import cublaslt_nvfp4_gemm_nt
from ._facade.plain import (
    batched_symm,
    batched_syrk,
    cublaslt_gemm_nn,
    cublaslt_gemm_nt,
    cublaslt_gemm_tn,
    cublaslt_gemm_tt,
    fp8_gemm_nt_skip_head_mid,
)
from ._facade.sparse_logits import (
    fp8_fp4_paged_sparse_mqa_logits,
    fp8_fp4_sparse_mqa_logits,
    get_paged_sparse_mqa_logits_metadata,
    get_sparse_mqa_logits_metadata,
)
from .knobs import (
    get_deterministic_algorithms,
    get_k_alignment_for_contiguous_layout,
    get_m_alignment_for_contiguous_layout,
    get_mk_alignment_for_contiguous_layout,
    get_num_sms,
    get_pdl,
    get_tc_util,
    get_theoretical_mk_alignment_for_contiguous_layout,
    set_block_size_multiple_of,
    set_ignore_compile_dims,
    set_mk_alignment_for_contiguous_layout,
    set_num_sms,
    set_pdl,
    set_tc_util,
    shutdown,
    use_deterministic_algorithms,
)
from .utils.layout import (
    get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor,
    get_mn_major_tma_aligned_packed_ue8m0_tensor,
    get_mn_major_tma_aligned_tensor,
    get_tma_aligned_size,
    transform_sf_into_required_layout,
)

__all__ = [
    "batched_symm",
    "batched_syrk",
    "bf16_gemm_nn",
    "bf16_gemm_nt",
    "bf16_gemm_tn",
    "bf16_gemm_tt",
    "bf16_m_grouped_gemm_nt_masked",
    "bf16_mega_gate",
    "cublaslt_gemm_nn",
    "cublaslt_gemm_nt",
    "cublaslt_gemm_tn",
    "cublaslt_gemm_tt",
    "cublaslt_nvfp4_gemm_nt",
    "einsum",
    "fp4_gemm_nt",
    "fp8_einsum",
    "fp8_fp4_gemm_nn",
    "fp8_fp4_gemm_nt",
    "fp8_fp4_gemm_tn",
    "fp8_fp4_gemm_tt",
    "fp8_fp4_mqa_logits",
    "fp8_fp4_paged_mqa_logits",
    "fp8_fp4_paged_sparse_mqa_logits",
    "fp8_fp4_sparse_mqa_logits",
    "fp8_gemm_nn",
    "fp8_gemm_nt",
    "fp8_gemm_nt_skip_head_mid",
    "fp8_gemm_tn",
    "fp8_gemm_tt",
    "fp8_m_grouped_gemm_nt_masked",
    "fp8_mqa_logits",
    "fp8_paged_mqa_logits",
    "get_deterministic_algorithms",
    "get_jit",
    "get_k_alignment_for_contiguous_layout",
    "get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor",
    "get_m_alignment_for_contiguous_layout",
    "get_mk_alignment_for_contiguous_layout",
    "get_mn_major_tma_aligned_packed_ue8m0_tensor",
    "get_mn_major_tma_aligned_tensor",
    "get_mqa_logits_metadata",
    "get_num_sms",
    "get_paged_mqa_logits_metadata",
    "get_paged_sparse_mqa_logits_metadata",
    "get_pdl",
    "get_ring_limit_for_mega_moe",
    "get_sparse_mqa_logits_metadata",
    "get_symm_buffer_size_for_mega_moe",
    "get_symm_buffer_size_for_nvfp4_mega_moe",
    "get_tc_util",
    "get_theoretical_mk_alignment_for_contiguous_layout",
    "get_tma_aligned_size",
    "get_token_alignment_for_mega_moe",
    "init",
    "k_grouped_bf16_gemm_tn_contiguous",
    "k_grouped_fp4_gemm_nt_contiguous",
    "k_grouped_fp8_gemm_nt_contiguous",
    "k_grouped_fp8_gemm_tn_contiguous",
    "m_grouped_bf16_gemm_nn_contiguous",
    "m_grouped_bf16_gemm_nt_contiguous",
    "m_grouped_bf16_gemm_nt_masked",
    "m_grouped_fp4_gemm_nt_contiguous",
    "m_grouped_fp4_gemm_nt_masked",
    "m_grouped_fp8_fp4_gemm_nn_contiguous",
    "m_grouped_fp8_fp4_gemm_nt_contiguous",
    "m_grouped_fp8_fp4_gemm_nt_masked",
    "m_grouped_fp8_gemm_nn_contiguous",
    "m_grouped_fp8_gemm_nt_contiguous",
    "m_grouped_fp8_gemm_nt_masked",
    "set_block_size_multiple_of",
    "set_ignore_compile_dims",
    "set_mk_alignment_for_contiguous_layout",
    "set_num_sms",
    "set_pdl",
    "set_tc_util",
    "shutdown",
    "tf32_hc_prenorm_gemm",
    "transform_sf_into_required_layout",
    "use_deterministic_algorithms",
]

_fake.register(_ops.NAMESPACE)


class JitHandle:
    """Opaque handle of the existing JIT runtime of this copy; `address` identifies it."""

    __slots__ = ("address",)

    def __init__(self, address: int) -> None:
        self.address = address

    def __repr__(self) -> str:
        return f"<deep_gemm JIT at {self.address:#x}>"


_jit_handle: JitHandle | None = None


def get_jit() -> JitHandle:
    """The handle of the runtime that compiles this copy's kernels: the same object every time."""
    global _jit_handle
    if _jit_handle is None:
        answer = _ops.query("jit_handle")
        _jit_handle = JitHandle(int(answer["address"] if isinstance(answer, dict) else answer))
    return _jit_handle


def init(library_root: str, cuda_home: str | None = None) -> None:
    """Point the extension at another package root; done at import, kept for callers."""
    _ops.init(library_root)
