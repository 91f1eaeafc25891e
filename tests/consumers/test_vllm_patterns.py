"""The import and call patterns of vLLM for the operators and helpers that are here."""

import importlib

import torch

import deep_gemm
from tests.support.grouped import Masked, MGrouped

RESOLVED = [
    "fp8_gemm_nt",
    "m_grouped_fp8_gemm_nt_contiguous",
    "m_grouped_fp8_gemm_nt_masked",
    "m_grouped_fp8_fp4_gemm_nt_contiguous",
    "fp8_m_grouped_gemm_nt_masked",
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
    "fp8_fp4_sparse_mqa_logits",
    "fp8_fp4_paged_sparse_mqa_logits",
    "get_sparse_mqa_logits_metadata",
    "get_paged_sparse_mqa_logits_metadata",
    "bf16_mega_gate",
]
# Presence is read as a capability, so what does not work must not be there.
CAPABILITIES = [
    "mega_mhc",
    "fp8_fp4_mega_moe",
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


def test_experts_contiguous_by_index_and_by_ends() -> None:
    case = MGrouped.make([0, 1, 128, 60], 64, 256)
    layouts = {"index": (case.labels, {}), "psum": (case.ends, {"use_psum_layout": True})}
    before = deep_gemm.get_mk_alignment_for_contiguous_layout()
    for name, (layout, options) in layouts.items():
        out = case.d()
        deep_gemm.set_mk_alignment_for_contiguous_layout(128)
        deep_gemm.m_grouped_fp8_gemm_nt_contiguous(
            case.a, case.b, out, layout, disable_ue8m0_cast=True, **options
        )
        deep_gemm.set_mk_alignment_for_contiguous_layout(before)
        case.check(out, name)


def test_experts_by_ends_leave_a_sentinel_behind_the_last() -> None:
    for ends in ([0, 1, 128, 129], [0, 0, 0, 0]):
        a = torch.full((512, 128), torch.nan).bfloat16()
        b = torch.randn(4, 16, 128, generator=torch.Generator().manual_seed(1)).bfloat16()
        out = torch.full((512, 16), 91.0).bfloat16()
        layout = torch.tensor(ends, dtype=torch.int32)
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(a, b, out, layout, use_psum_layout=True)
        end = -(-ends[-1] // 128) * 128
        assert bool((out[end:] == 91).all())


def test_experts_with_fp4_weights() -> None:
    x = torch.randn(128, 256, generator=torch.Generator().manual_seed(2))
    w = torch.randn(2, 64, 256, generator=torch.Generator().manual_seed(3))
    a = deep_gemm.per_token_cast_to_fp8(x, use_ue8m0=True)
    parts = [deep_gemm.per_token_cast_to_fp4(y, use_ue8m0=True, gran_k=32) for y in w]
    data, scale = (torch.stack(list(part)) for part in zip(*parts, strict=True))
    out = torch.empty(128, 64, dtype=torch.bfloat16)
    layout = torch.ones(128, dtype=torch.int32)
    deep_gemm.m_grouped_fp8_fp4_gemm_nt_contiguous(
        a, (data.view(torch.int8), scale), out, layout, use_psum_layout=False,
        recipe_a=(1, 128), recipe_b=(1, 32), disable_ue8m0_cast=True,
    )  # fmt: skip
    assert deep_gemm.testing.calc_diff(out, x @ w[1].t()) < 1e-2


def test_experts_masked() -> None:
    case = Masked.make([3, 0, 17], 20, 64, 256)
    out = case.d()
    deep_gemm.m_grouped_fp8_gemm_nt_masked(
        case.a, case.b, out, case.counts, 20, disable_ue8m0_cast=True
    )
    case.check(out, "masked")


def test_warm_up_with_random_experts_and_garbage() -> None:
    g = torch.Generator().manual_seed(4)
    raw = torch.randint(0, 256, (512, 256), generator=g, dtype=torch.uint8)
    a = (raw.view(torch.float8_e4m3fn), torch.empty(512, 2))
    b = deep_gemm.per_block_cast_to_fp8(torch.randn(96, 256, generator=g), use_ue8m0=False)
    stacked = tuple(torch.stack([x, x, x]) for x in b)
    out = torch.empty(512, 96, dtype=torch.bfloat16)
    for m in (128, 256, 512):
        tiles = torch.randint(0, 3, (m // 128,), generator=g, dtype=torch.int32)
        deep_gemm.m_grouped_fp8_gemm_nt_contiguous(
            (a[0][:m], a[1][:m]), stacked, out[:m], tiles.repeat_interleave(128)
        )


def test_expert_choice_writes_into_its_outputs() -> None:
    x, weight = torch.randn(5, 256).bfloat16(), torch.randn(16, 256).bfloat16()
    idx, weights = torch.empty(5, 4, dtype=torch.int64), torch.empty(5, 4)
    deep_gemm.bf16_mega_gate(
        x,
        weight,
        4,
        use_shared_as_routed=False,
        num_shared_experts=0,
        routed_scaling_factor=2.5,
        ep_rank=0,
        bias=torch.randn(16),
        out=(idx, weights),
    )
    assert torch.allclose(weights.sum(1), torch.full((5,), 2.5))
    assert bool(((idx >= 0) & (idx < 16)).all())
