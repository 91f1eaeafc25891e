"""The import and call patterns of vLLM for the operators and helpers that are here."""

import importlib

import torch

import deep_gemm

RESOLVED = [
    "fp8_gemm_nt",
    "get_mn_major_tma_aligned_tensor",
    "get_mk_alignment_for_contiguous_layout",
    "get_theoretical_mk_alignment_for_contiguous_layout",
    "transform_sf_into_required_layout",
    "pack_ue8m0_to_int",
    "get_mn_major_tma_aligned_packed_ue8m0_tensor",
    "get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor",
    "get_num_sms",
    "set_num_sms",
    "set_mk_alignment_for_contiguous_layout",
    "set_pdl",
    "per_block_cast_to_fp8",
]
# Presence is read as a capability, so what does not work must not be there.
CAPABILITIES = [
    "fp8_fp4_sparse_mqa_logits",
    "fp8_fp4_paged_sparse_mqa_logits",
    "get_sparse_mqa_logits_metadata",
    "mega_mhc",
    "bf16_mega_gate",
]


def test_names_are_resolved_at_the_top_level() -> None:
    for name in RESOLVED:
        assert callable(getattr(deep_gemm, name, None)), name
    for name in CAPABILITIES:
        assert getattr(deep_gemm, name, None) is None, name


def test_modules_import_by_name() -> None:
    for name in ("utils", "utils.layout", "utils.math", "utils.dist", "testing", "_C"):
        importlib.import_module(f"deep_gemm.{name}")


def test_block_fp8_linear() -> None:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(9, 512, generator=generator).bfloat16()
    w = torch.randn(192, 512, generator=generator).bfloat16()
    q, qs = deep_gemm.per_token_cast_to_fp8(x, use_ue8m0=True)
    qs = deep_gemm.get_mn_major_tma_aligned_tensor(qs)
    wq, ws = deep_gemm.per_block_cast_to_fp8(w, use_ue8m0=True)
    ws = deep_gemm.transform_sf_into_required_layout(
        sf=ws,
        mn=192,
        k=512,
        recipe=(1, 128, 128),
        num_groups=None,
        is_sfa=False,
        disable_ue8m0_cast=False,
    )
    out = torch.empty(9, 192, dtype=torch.bfloat16)
    deep_gemm.fp8_gemm_nt((q, qs), (wq, ws), out, disable_ue8m0_cast=False)
    assert deep_gemm.testing.calc_diff(out, x.float() @ w.float().t()) < 1e-3


def test_warm_up_with_zero_scales_over_many_m() -> None:
    w = deep_gemm.per_block_cast_to_fp8(torch.randn(64, 256), use_ue8m0=False)
    most = 40
    columns = 256 // deep_gemm.get_mk_alignment_for_contiguous_layout()
    a = torch.zeros(most, 256, dtype=torch.uint8).view(torch.float8_e4m3fn)
    scales = torch.zeros(most, columns)
    out = torch.full((most, 64), 1.0, dtype=torch.bfloat16)
    for m in (1, 2, 7, 16, 40):
        deep_gemm.fp8_gemm_nt((a[:m], scales[:m]), w, out[:m])
    assert not bool(out.any())


def test_theoretical_alignment_is_retried_with_one_argument() -> None:
    theory = deep_gemm.get_theoretical_mk_alignment_for_contiguous_layout
    assert theory(1024, 8) > 0 and theory(128) > 0


def test_sm_budget_is_set_and_restored() -> None:
    before = deep_gemm.get_num_sms()
    deep_gemm.set_num_sms(max(1, before - 1))
    deep_gemm.set_num_sms(before)
    assert deep_gemm.get_num_sms() == before
    deep_gemm.set_num_sms(0)
