"""The host side of the fused mixture-of-experts operators: sizes, views, weights, round trips."""

from __future__ import annotations

import pytest
import torch

import deep_gemm
from deep_gemm import _C, errors

ALIGNMENT = 1920


def _views(num_bytes: int, slicer: object) -> tuple[torch.Tensor, ...]:
    return slicer(torch.zeros(num_bytes, dtype=torch.int8))


def test_the_first_generation_has_eight_views_and_the_second_twelve() -> None:
    first = _C.get_symm_buffer_size_for_mega_moe(2, 16, 100, 4, 512, 256, num_ring_tokens=17280)
    second = _C.get_symm_buffer_size_for_mega_moe(2, 16, 100, 4, 512, 256, num_shared_experts=1)
    assert len(_views(*first)) == 8
    assert len(_views(*second)) == 12


def test_a_positional_ninth_argument_is_told_apart_by_its_size() -> None:
    call = (2, 16, 100, 4, 512, 256, "fp8xfp4", "swiglu")
    assert len(_views(*_C.get_symm_buffer_size_for_mega_moe(*call, 17280))) == 8
    assert len(_views(*_C.get_symm_buffer_size_for_mega_moe(*call, 2))) == 12


@pytest.mark.parametrize(
    "types,x_dtype,x_columns,scale_words",
    [
        ("fp8xfp4", torch.float8_e4m3fn, 512, 4),
        ("bf16xbf16", torch.bfloat16, 512, 0),
        ("fp4xfp4", torch.int8, 256, 8),
    ],
)
def test_views_have_the_contract_s_shapes_and_never_overlap(
    types: str, x_dtype: torch.dtype, x_columns: int, scale_words: int
) -> None:
    num_bytes, slicer = _C.get_symm_buffer_size_for_mega_moe(
        2, 16, 100, 4, 512, 256, types, num_shared_experts=1
    )
    buffer = torch.zeros(num_bytes, dtype=torch.int8)
    views = slicer(buffer)
    x, x_sf, idx, weights, l1, l1_sf, l2, l2_sf = views[:8]
    assert (x.dtype, x.shape) == (x_dtype, (ALIGNMENT, x_columns))
    assert (x_sf.dtype, x_sf.shape) == (torch.int32, (ALIGNMENT, scale_words))
    assert (idx.dtype, idx.shape) == (torch.int64, (ALIGNMENT, 4))
    assert (weights.dtype, weights.shape) == (torch.float32, (ALIGNMENT, 4))
    assert l1.shape[1] == x_columns and l2.shape[1] == x_columns // 2
    assert l1.shape[0] == l2.shape[0] == l1_sf.shape[0] == l2_sf.shape[0]
    assert l1.shape[0] % ALIGNMENT == 0
    ends = 0
    for view in views:
        assert view.is_contiguous()
        start = view.data_ptr() - buffer.data_ptr() if view.numel() else ends
        assert start >= ends and start % 1024 == 0
        ends = start + view.numel() * view.element_size()
    assert ends <= num_bytes


def test_views_share_the_buffer_and_keep_it_alive() -> None:
    num_bytes, slicer = _C.get_symm_buffer_size_for_mega_moe(1, 8, 10, 2, 128, 128)
    buffer = torch.zeros(num_bytes, dtype=torch.int8)
    idx = slicer(buffer)[2]
    idx.fill_(-1)
    assert int((buffer != 0).sum()) == idx.numel() * 8
    del buffer
    assert bool((idx == -1).all())


def test_the_operator_and_the_closure_give_the_same_views() -> None:
    op = getattr(torch.ops, deep_gemm._C._ops.NAMESPACE)
    num_bytes, layout = op.get_symm_buffer_size_for_mega_moe(
        1, 8, 10, 2, 128, 128, "fp8xfp4", 0, 0, 132
    )
    buffer = torch.zeros(num_bytes, dtype=torch.int8)
    views = op._slice_symm_buffer_for_mega_moe(buffer, layout)
    other_bytes, slicer = _C.get_symm_buffer_size_for_mega_moe(1, 8, 10, 2, 128, 128)
    assert num_bytes == other_bytes or torch.cuda.is_available()
    assert [(v.shape, v.dtype) for v in views[:4]] == [
        (v.shape, v.dtype) for v in _views(other_bytes, slicer)[:4]
    ]


def test_the_ring_grows_with_the_number_of_sms() -> None:
    op = getattr(torch.ops, deep_gemm._C._ops.NAMESPACE).get_symm_buffer_size_for_mega_moe
    small = op(8, 256, 4096, 8, 7168, 2048, "fp8xfp4", 0, 0, 78)[0]
    large = op(8, 256, 4096, 8, 7168, 2048, "fp8xfp4", 0, 0, 132)[0]
    assert small < large


def test_ring_limits_are_aligned_and_ordered() -> None:
    least, most = _C.get_ring_limit_for_mega_moe(100, 8, 2, 2)
    assert 0 < least <= most
    assert least % ALIGNMENT == 0 and most % ALIGNMENT == 0
    # Every token of both ranks twice, and a started tile for each of 8 experts.
    assert most >= 2 * ALIGNMENT * 2 + 8 * 191
    assert _C.get_token_alignment_for_mega_moe() == ALIGNMENT
    assert ALIGNMENT % 384 == 0


@pytest.mark.parametrize(
    "change,rule",
    [
        ({"num_experts": 7}, "MEGA_EXPERTS"),
        ({"num_experts": 0}, "MEGA_POSITIVE"),
        ({"hidden": 100}, "MEGA_WIDTH"),
        ({"intermediate_hidden": 0}, "MEGA_WIDTH"),
        ({"mma_type": "fp16"}, "MEGA_TYPES"),
        ({"num_ring_tokens": 1 << 40}, "MEGA_RING"),
        ({"num_shared_experts": -1}, "MEGA_POSITIVE"),
        ({"activation": "gelu"}, "MEGA_ACTIVATION"),
    ],
)
def test_wrong_sizes_are_refused_by_rule(change: dict[str, object], rule: str) -> None:
    call: dict[str, object] = {
        "num_ranks": 2,
        "num_experts": 16,
        "num_max_tokens_per_rank": 100,
        "num_topk": 4,
        "hidden": 512,
        "intermediate_hidden": 256,
    }
    with pytest.raises(errors.InvalidArgument, match=rule):
        _C.get_symm_buffer_size_for_mega_moe(**call | change)


@pytest.mark.parametrize(
    "layout",
    [[], [1, 10, 1, 1, 0, 100, 100], [1, 10, 1, 99, 0, 1, 1], [1, 10, 1, 1, -5, 1, 1], [2, 0, 0]],
)
def test_a_layout_that_is_not_ours_is_refused(layout: list[int]) -> None:
    op = getattr(torch.ops, deep_gemm._C._ops.NAMESPACE)._slice_symm_buffer_for_mega_moe
    with pytest.raises(RuntimeError, match="MEGA_LAYOUT"):
        op(torch.zeros(10, dtype=torch.int8), layout)


def test_a_short_or_strided_buffer_is_refused() -> None:
    num_bytes, slicer = _C.get_symm_buffer_size_for_mega_moe(1, 8, 10, 2, 128, 128)
    with pytest.raises(errors.InvalidArgument, match="MEGA_BUFFER"):
        slicer(torch.zeros(num_bytes - 1, dtype=torch.int8))
    with pytest.raises(errors.InvalidArgument, match="MEGA_BUFFER"):
        slicer(torch.zeros(num_bytes, dtype=torch.int32))


def test_weights_are_interleaved_eight_rows_of_gate_then_eight_of_up() -> None:
    rows = torch.arange(32, dtype=torch.float32).reshape(1, 32, 1).expand(2, 32, 3).contiguous()
    got, _ = deep_gemm.transform_weights_for_mega_moe(rows.bfloat16(), rows.bfloat16())
    want = [*range(8), *range(16, 24), *range(8, 16), *range(24, 32)]
    assert got[1, :, 2].float().tolist() == want


def test_scales_are_permuted_inside_128_rows_and_keep_their_strides() -> None:
    scales = torch.empty(2, 3, 256, dtype=torch.int32).transpose(1, 2)  # MN-major
    scales.copy_(torch.arange(256, dtype=torch.int32).reshape(1, 256, 1).expand(2, 256, 3))
    first, second = deep_gemm.transform_scales_for_mega_moe(scales, scales)
    assert first.stride() == second.stride() == scales.stride()
    for old in (0, 1, 31, 32, 127, 128, 200):
        block, r = divmod(old, 128)
        assert int(second[0, block * 128 + (r % 32) * 4 + r // 32, 0]) == old
    interleaved = [gate + 8 * j + r for j in range(16) for gate in (0, 128) for r in range(8)]
    for new, old in enumerate(interleaved):
        block, r = divmod(new, 128)
        assert int(first[1, block * 128 + (r % 32) * 4 + r // 32, 1]) == old


def test_scaled_weights_come_back_as_pairs() -> None:
    w1 = torch.randint(-128, 127, (2, 256, 64), dtype=torch.int8)
    w2 = torch.randint(-128, 127, (2, 128, 64), dtype=torch.int8)
    s1, s2 = torch.ones(2, 256, 1, dtype=torch.int32), torch.ones(2, 128, 1, dtype=torch.int32)
    (l1, l1_sf), (l2, l2_sf) = deep_gemm.transform_weights_for_mega_moe((w1, s1), (w2, s2))
    assert torch.equal(l1[:, :8], w1[:, :8]) and torch.equal(l1[:, 8:16], w1[:, 128:136])
    assert l2 is w2 and l1_sf.shape == s1.shape and l2_sf.shape == s2.shape


def test_the_hopper_form_interleaves_the_data_alone() -> None:
    w1 = torch.randn(1, 32, 4).bfloat16()
    scales = torch.ones(1, 1, 1)
    (l1, l1_sf), second = deep_gemm.transform_weights_for_mega_moe_sm90((w1, scales), (w1, scales))
    assert torch.equal(l1[:, 8:16], w1[:, 16:24]) and l1_sf is scales and second[0] is w1


def test_odd_rows_are_refused() -> None:
    with pytest.raises(errors.InvalidArgument, match="MEGA_ROWS"):
        deep_gemm.transform_weights_for_mega_moe(torch.zeros(1, 24, 4), torch.zeros(1, 4, 4))
    with pytest.raises(errors.InvalidArgument, match="MEGA_SCALE_ROWS"):
        deep_gemm.transform_scales_for_mega_moe(
            torch.zeros(1, 64, 1, dtype=torch.int32), torch.zeros(1, 64, 1, dtype=torch.int32)
        )


def test_nvfp4_activations_have_two_values_a_byte_and_a_scale_per_16() -> None:
    num_bytes, slicer = _C.get_symm_buffer_size_for_nvfp4_mega_moe(1, 8, 100, 2, 256, 128)
    x, x_sf, *_ = slicer(torch.zeros(num_bytes, dtype=torch.int8))
    assert x.size(1) * x.element_size() == 256 // 2
    assert x_sf.size(1) * x_sf.element_size() == 256 // 16


def test_a_buffer_of_one_rank_is_zeroed_and_destroyed() -> None:
    buffer = deep_gemm.get_symm_buffer_for_mega_moe(None, 8, 100, 2, 256, 128)
    assert isinstance(buffer, deep_gemm.SymmBuffer)
    assert buffer.x.shape == (ALIGNMENT, 256) and int(buffer.buffer.count_nonzero()) == 0
    buffer.topk_idx[:4] = -1
    assert bool((buffer.topk_idx[:4] == -1).all())
    buffer.destroy()
    assert buffer.x is None and buffer.buffer is None and buffer.handle is None


def test_both_generations_of_the_seventh_argument_are_understood() -> None:
    sizes = (None, 8, 100, 2, 256, 128)
    older = deep_gemm.get_symm_buffer_for_mega_moe(*sizes, True, "fp8xfp4", "swiglu")
    newer = deep_gemm.get_symm_buffer_for_mega_moe(*sizes, 1, None, "bf16xbf16")
    assert older.mma_type == "fp8xfp4" and older.shared_l1_acts.numel() == 0
    assert newer.mma_type == "bf16xbf16" and newer.shared_l1_acts.shape == (ALIGNMENT, 256)
    with pytest.raises(errors.InvalidArgument, match="MEGA_DISPATCH"):
        deep_gemm.get_symm_buffer_for_mega_moe(*sizes, True, "bf16xbf16")


def test_the_fused_kernels_are_absent_with_a_reason() -> None:
    for name in ("fp8_fp4_mega_moe", "bf16_mega_moe", "fp8_mega_moe", "nvfp4_mega_moe"):
        assert not hasattr(deep_gemm, name)
        with pytest.raises(AttributeError, match="fused mega operators"):
            getattr(deep_gemm, name)
