"""The import and call patterns of SGLang for the operators and helpers that are here."""

import torch

import deep_gemm
import deep_gemm.utils.layout
import deep_gemm.utils.math
from deep_gemm.utils import align, get_tma_aligned_size
from deep_gemm.utils.layout import get_mn_major_tma_aligned_tensor
from deep_gemm.utils.math import transform_ue4m3_sf_into_required_layout
from tests.support.grouped import Masked, MGrouped

Pair = tuple[torch.Tensor, torch.Tensor]


def linear(m: int = 5, n: int = 64, k: int = 256) -> tuple[Pair, Pair, torch.Tensor]:
    x = torch.randn(m, k, generator=torch.Generator().manual_seed(2))
    w = torch.randn(n, k, generator=torch.Generator().manual_seed(3))
    lhs = deep_gemm.per_token_cast_to_fp8(x, use_ue8m0=False)
    rhs = deep_gemm.per_block_cast_to_fp8(w, use_ue8m0=False)
    return lhs, rhs, x @ w.t()


def test_import_forms() -> None:
    assert align(5, 4) == 8 and get_tma_aligned_size(5, 4) == 8
    assert callable(transform_ue4m3_sf_into_required_layout)
    assert callable(deep_gemm.utils.layout.get_mn_major_tma_aligned_packed_ue8m0_tensor)
    assert not hasattr(deep_gemm, "set_compile_mode"), "a client would switch it"


def test_dense_fp8_plain_and_with_an_explicit_recipe() -> None:
    lhs, rhs, want = linear()
    lhs = (lhs[0], get_mn_major_tma_aligned_tensor(lhs[1]))
    out, again = (torch.empty(5, 64, dtype=torch.bfloat16) for _ in range(2))
    deep_gemm.fp8_gemm_nt(lhs, rhs, out)
    deep_gemm.fp8_gemm_nt(lhs, rhs, again, recipe=(1, 128, 128))
    assert torch.equal(out, again)
    assert deep_gemm.testing.calc_diff(out, want) < 2e-3


def test_dense_mxfp8_with_packed_scales() -> None:
    x = torch.randn(5, 256, generator=torch.Generator().manual_seed(4))
    w = torch.randn(64, 256, generator=torch.Generator().manual_seed(5))
    pack = deep_gemm.utils.layout.get_mn_major_tma_aligned_packed_ue8m0_tensor
    pairs = []
    for y in (x, w):
        data, scale = deep_gemm.per_token_cast_to_fp8(y, use_ue8m0=True, gran_k=32)
        pairs.append((data, pack(scale)))
    out = torch.empty(5, 64, dtype=torch.bfloat16)
    deep_gemm.fp8_fp4_gemm_nt(
        *pairs, out, recipe_a=(1, 32), recipe_b=(1, 32), disable_ue8m0_cast=True
    )
    assert deep_gemm.testing.calc_diff(out, x @ w.t()) < 2e-3


def test_dense_bf16_into_float32() -> None:
    x = torch.randn(5, 64, generator=torch.Generator().manual_seed(6)).bfloat16()
    out = torch.empty(5, 5)
    deep_gemm.bf16_gemm_nt(x, x, out)
    assert deep_gemm.testing.calc_diff(out, x.float() @ x.float().t()) < 1e-10


def test_positional_arguments_of_both_generations() -> None:
    lhs, rhs, _ = linear()
    out, again = torch.zeros(5, 64), torch.zeros(5, 64)
    deep_gemm.fp8_gemm_nt(lhs, rhs, out)
    deep_gemm.fp8_gemm_nt(
        list(lhs), list(rhs), again, None, (1, 128, 128), None, None, "mnk xyz", True, None, None
    )
    assert torch.equal(out, again)
    x = torch.eye(8).bfloat16()
    d = torch.zeros(8, 8)
    deep_gemm.bf16_gemm_nt(x, x, d, None, "")
    deep_gemm.bf16_gemm_nt(x, x, d, d, "mn", 2.0, None)
    assert torch.equal(d, 3 * torch.eye(8))


def test_names_that_are_one_object() -> None:
    for layout in ("nt", "nn", "tn", "tt"):
        one, two = (getattr(deep_gemm, f"{x}_gemm_{layout}") for x in ("fp8", "fp8_fp4"))
        assert one is two


def test_aligned_scale_is_used_itself() -> None:
    sf = torch.rand(2, 8).t()[:5]
    out = get_mn_major_tma_aligned_tensor(sf)
    assert out.data_ptr() == sf.data_ptr()
    assert out.shape == sf.shape and out.stride() == sf.stride()


def test_alignment_may_be_called_both_ways() -> None:
    theory = deep_gemm.get_theoretical_mk_alignment_for_contiguous_layout
    assert theory(128) > 0 and theory(expected_m=1024, num_groups=8) > 0


def test_experts_contiguous_and_warm_up_of_zeros() -> None:
    case = MGrouped.make([100, 28], 64, 256)
    out, again = case.d(), case.d()
    deep_gemm.m_grouped_fp8_gemm_nt_contiguous(case.a, case.b, out, case.labels)
    case.check(out, "contiguous")
    deep_gemm.m_grouped_fp8_gemm_nt_contiguous(
        list(case.a), list(case.b), again, case.labels, recipe=(1, 128, 128)
    )
    assert torch.equal(again[case.valid], out[case.valid])
    zeros = (torch.zeros_like(case.a[0]), torch.zeros_like(case.a[1]))
    m_indices = torch.zeros(256, dtype=torch.int32)
    deep_gemm.m_grouped_fp8_gemm_nt_contiguous(zeros, case.b, out, m_indices)
    assert not bool(out.any())
    plain = MGrouped.make([100, 28], 64, 256, "bf16")
    out = plain.d()
    deep_gemm.m_grouped_bf16_gemm_nt_contiguous(plain.a, plain.b, out, plain.labels)
    plain.check(out, "bf16")


def test_experts_masked_under_the_old_name_and_by_keyword() -> None:
    case = Masked.make([3, 0, 17], 20, 64, 256)
    out, again = case.d(), case.d()
    assert deep_gemm.fp8_m_grouped_gemm_nt_masked(case.a, case.b, out, case.counts, 20) is None
    case.check(out, "masked")
    deep_gemm.fp8_m_grouped_gemm_nt_masked(
        case.a, case.b, again, masked_m=case.counts, expected_m=1,
        recipe_a=(1, 128), recipe_b=(128, 128),
    )  # fmt: skip
    assert torch.equal(again, out)
    deep_gemm.fp8_m_grouped_gemm_nt_masked(
        case.a, case.b, again.fill_(5), masked_m=torch.zeros_like(case.counts), expected_m=20
    )
    assert bool((again == 5).all()), "the warm-up has no rows"
    plain = Masked.make([3, 0, 17], 20, 64, 256, "bf16")
    out = plain.d()
    deep_gemm.m_grouped_bf16_gemm_nt_masked(plain.a, plain.b, out, plain.counts, 20)
    plain.check(out, "bf16")
