"""Published names that this version does not have, each with its reason.

Callers read the presence of a name as a capability, so a name is exported only when it works;
`deep_gemm.<name>` raises AttributeError with the sentence found here.
"""

from __future__ import annotations

__all__ = ["reason"]

_MEGA = "the fused mega operators are not in this version"

_REASONS = {
    "bf16_gemm_nt_skip_head_mid": "it was never published; use bf16_gemm_nt",
    "gemm_fp8_fp8_bf16_nt": "renamed: use fp8_gemm_nt",
    "m_grouped_gemm_fp8_fp8_bf16_nt_": "renamed: use m_grouped_fp8_gemm_nt_*",
    "get_col_major_tma_aligned_tensor": "renamed: use get_mn_major_tma_aligned_tensor",
    "get_m_alignment_for_contiguous": "use get_mk_alignment_for_contiguous_layout",
    "mega_": _MEGA,
    "mega_mhc": f"{_MEGA}; its product and square sums are tf32_hc_prenorm_gemm",
    "bf16_mega_": _MEGA,
    "fp8_mega_": _MEGA,
    "fp8_fp4_mega_": _MEGA,
    "nvfp4_mega_": _MEGA,
    "fp4_fp4_mega_": _MEGA,
    "SM90SymmBuffer": _MEGA,
    "NVFP4SymmBuffer": _MEGA,
    "get_symm_buffer_": _MEGA,
    "get_block_m_for_": _MEGA,
    "get_bf16_mega_gate_config": "bf16_mega_gate has no configuration to choose",
    "set_compile_mode": "there is no such mode: precompile(...) and DG_JIT_MODE take its place",
    "get_compile_mode": "there is no such mode: precompile(...) and DG_JIT_MODE take its place",
}


def reason(name: str) -> str | None:
    """Why `name` is absent, by its longest known beginning; None for a name never published."""
    known = [prefix for prefix in _REASONS if name.startswith(prefix)]
    return _REASONS[max(known, key=len)] if known else None
