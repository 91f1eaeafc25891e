"""Grouped GEMMs where only a GPU shows the fault: graphs, tuned tiles, streams, large sizes."""

from typing import Any

import pytest
import torch

import deep_gemm
from tests.support import devices
from tests.support.grouped import SENTINEL, Masked, MGrouped, generator, round_up
from tests.support.tolerances import assert_close

pytestmark = devices.NEEDS_CUDA


def contiguous(dtype: str) -> Any:
    return getattr(deep_gemm, f"m_grouped_{dtype}_gemm_nt_contiguous")


def masked(dtype: str) -> Any:
    return getattr(deep_gemm, f"m_grouped_{dtype}_gemm_nt_masked")


def needs_memory(gigabytes: int) -> None:
    if torch.cuda.get_device_properties(0).total_memory < gigabytes << 30:
        pytest.skip(f"needs {gigabytes} GB of device memory")


def captured(call: Any) -> torch.cuda.CUDAGraph:
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph


@pytest.mark.parametrize("dtype", ["fp8", "bf16"])
def test_replays_follow_layouts_that_change_in_place(dtype: str) -> None:
    n, k, rows = 192, 512, 1024
    first = MGrouped.make([256] * 4, n, k, dtype, "cuda")
    layout, ends = first.labels.clone(), first.ends.clone()
    by_index, by_ends = first.d(), first.d()
    calls = (
        captured(lambda: contiguous(dtype)(first.a, first.b, by_index, layout)),
        captured(lambda: contiguous(dtype)(first.a, first.b, by_ends, ends, use_psum_layout=True)),
    )
    whole = []
    for group in range(4):
        d = first.d()
        contiguous(dtype)(first.a, first.b, d, torch.full_like(layout, group))
        whole.append(d)
    for sizes in ([0, 1, 128, 129], [0, 0, 0, 0], [1024, 0, 0, 0], [0, 0, 0, 1000], [5, 5, 5, 5]):
        labels: list[int] = []
        stops = []
        for group, size in enumerate(sizes):
            labels += [group] * size
            stops.append(len(labels))
            labels += [-1] * (round_up(len(labels)) - len(labels))
        labels += [-1] * (rows - len(labels))
        layout.copy_(torch.tensor(labels, dtype=torch.int32))
        ends.copy_(torch.tensor(stops, dtype=torch.int32))
        by_index.fill_(SENTINEL)
        by_ends.fill_(SENTINEL)
        for graph in calls:
            graph.replay()
        for group in range(4):
            mine = layout == group
            assert torch.equal(by_index[mine], whole[group][mine])
            assert torch.equal(by_ends[mine], whole[group][mine])
        assert not bool((by_index == SENTINEL).any())
        assert bool((by_ends[round_up(stops[-1]) :] == SENTINEL).all())


@pytest.mark.parametrize("dtype", ["fp8", "bf16"])
def test_masked_replays_follow_counts(dtype: str) -> None:
    full = Masked.make([200] * 5, 200, 136, 256, dtype, "cuda")
    counts = full.counts.clone()
    d = full.d()
    graph = captured(lambda: masked(dtype)(full.a, full.b, d, counts, 64))
    whole = full.d()
    masked(dtype)(full.a, full.b, whole, full.counts, 64)
    full.check(whole, "whole")
    for sizes in ([0] * 5, [1, 64, 65, 128, 200], [200, 0, 3, 0, 127]):
        counts.copy_(torch.tensor(sizes, dtype=torch.int32))
        d.fill_(SENTINEL)
        graph.replay()
        for group, size in enumerate(sizes):
            assert torch.equal(d[group, :size], whole[group, :size])
            assert bool((d[group, size:] == SENTINEL).all())


def test_k_grouped_replays_follow_sizes() -> None:
    g = generator("k replay")
    x, y = (torch.randn(1024, 96, generator=g).bfloat16().cuda() for _ in range(2))
    layout = torch.tensor([256] * 4, dtype=torch.int32, device="cuda")
    d = torch.zeros(4, 96, 96, device="cuda")
    op = deep_gemm.k_grouped_bf16_gemm_tn_contiguous
    graph = captured(lambda: op(x, y, d, [256] * 4, layout))
    for sizes in ([1024, 0, 0, 0], [1, 2, 3, 1018], [0, 0, 0, 0], [512, 0, 512, 0]):
        layout.copy_(torch.tensor(sizes, dtype=torch.int32))
        graph.replay()
        want, magnitude, start = [], [], 0
        for size in sizes:
            a, b = (z[start : start + size].double() for z in (x, y))
            want.append(a.t() @ b)
            magnitude.append(a.abs().t() @ b.abs())
            start += size
        assert_close(
            d, torch.stack(want), magnitude=torch.stack(magnitude), k=1024, case=str(sizes)
        )


@pytest.mark.parametrize("column_major", [False, True])
def test_long_k_in_many_tiles_with_scales_either_way(column_major: bool) -> None:
    case = MGrouped.make([2100, 0, 1000, 129], 1024, 3072, "fp8", "cuda")
    a = case.a
    if column_major:
        a = (a[0], deep_gemm.get_mn_major_tma_aligned_tensor(a[1]))
    d, e = case.d(), case.d()
    contiguous("fp8")(a, case.b, d, case.labels)
    contiguous("fp8")(a, case.b, e, case.ends, use_psum_layout=True)
    case.check(d, "labels")
    case.check(e, "ends")
    plain = MGrouped.make([1100, 0, 500, 129], 512, 2048, "bf16", "cuda")
    f = plain.d()
    contiguous("bf16")(plain.a, plain.b, f, plain.labels)
    plain.check(f, "bf16")
    room = Masked.make([128, 0, 77, 128, 1], 128, 1024, 3072, "fp8", "cuda")
    g = room.d()
    masked("fp8")(room.a, room.b, g, room.counts, 64)
    room.check(g, "masked")


def test_two_grouped_calls_in_one_graph_keep_apart() -> None:
    one = MGrouped.make([128, 256], 128, 256, "fp8", "cuda")
    two = MGrouped.make([64, 0, 200], 72, 384, "fp8", "cuda")
    first, second = one.d(), two.d()

    def both() -> None:
        contiguous("fp8")(one.a, one.b, first, one.labels)
        contiguous("fp8")(two.a, two.b, second, two.ends, use_psum_layout=True)

    graph = captured(both)
    for _ in range(3):
        first.fill_(SENTINEL)
        second.fill_(SENTINEL)
        graph.replay()
        one.check(first, "first")
        two.check(second, "second")


def test_hopper_takes_its_own_kernel_where_it_may() -> None:
    if torch.cuda.get_device_capability()[0] != 9:
        pytest.skip("the tuned kernel is for compute 9.0")
    case = MGrouped.make([128], 64, 256, "fp8", "cuda")
    plan = deep_gemm.plan("m_grouped_fp8_gemm_nt_contiguous", case.a, case.b, case.d(), case.labels)
    assert "sm90" in plan["plan"]
    wide = deep_gemm.plan(
        "m_grouped_fp8_gemm_nt_contiguous", case.a, case.b, case.d(torch.float32), case.labels
    )
    assert "portable" in wide["plan"]


@pytest.mark.parametrize("dtype", ["fp8", "bf16"])
@pytest.mark.parametrize("groups", [1, 3, 5, 7, 64])
def test_any_number_of_groups(dtype: str, groups: int) -> None:
    counts = [(37 * i) % 130 for i in range(groups)]
    case = Masked.make(counts, 129, 264, 640, dtype, "cuda")
    d = case.d()
    masked(dtype)(case.a, case.b, d, case.counts, 64)
    case.check(d, f"{groups} groups")
    again = case.d()
    for number in range(20):
        masked(dtype)(case.a, case.b, again, case.counts, 64)
        deep_gemm.testing.assert_bitwise_equal(again, d, f"call {number}")


@pytest.mark.parametrize("pdl", [False, True])
@pytest.mark.parametrize("num_sms", [1, 7, 64])
def test_fewer_sms_and_dependent_launch_change_no_bit(num_sms: int, pdl: bool) -> None:
    case = MGrouped.make([300, 0, 5, 200], 640, 512, "fp8", "cuda")
    plain = MGrouped.make([300, 0, 5, 200], 640, 512, "bf16", "cuda")
    want, other = case.d(), plain.d()
    contiguous("fp8")(case.a, case.b, want, case.labels)
    contiguous("bf16")(plain.a, plain.b, other, plain.labels)
    deep_gemm.set_num_sms(num_sms)
    deep_gemm.set_pdl(pdl)
    try:
        for _ in range(3):
            d, e = case.d(), plain.d()
            contiguous("fp8")(case.a, case.b, d, case.labels)
            contiguous("bf16")(plain.a, plain.b, e, plain.labels)
    finally:
        deep_gemm.set_pdl(False)
        deep_gemm.set_num_sms(0)
    deep_gemm.testing.assert_bitwise_equal(d, want, f"{num_sms} SMs")
    deep_gemm.testing.assert_bitwise_equal(e, other, f"{num_sms} SMs, bf16")


def test_checking_is_left_out_while_a_graph_is_captured() -> None:
    case = MGrouped.make([128], 64, 256, "fp8", "cuda")
    d = case.d()
    with deep_gemm.checking():
        captured(lambda: contiguous("fp8")(case.a, case.b, d, case.labels))


def test_counts_in_host_memory_are_refused() -> None:
    case = Masked.make([3, 4], 8, 64, 256, "fp8", "cuda")
    with pytest.raises(deep_gemm.errors.InvalidArgument, match="ONE_DEVICE"):
        masked("fp8")(case.a, case.b, case.d(), case.counts.cpu(), 4)
    with pytest.raises(deep_gemm.errors.InvalidArgument, match="LAYOUT_INT32"):
        masked("fp8")(case.a, case.b, case.d(), case.counts.long(), 4)


def test_ten_thousand_rows_of_padding_behind_the_last_group() -> None:
    case = MGrouped.make([200, 56], 512, 512, "fp8", "cuda", tail=10240)
    d, e = case.d(), case.d()
    graph = captured(lambda: contiguous("fp8")(case.a, case.b, d, case.labels))
    d.fill_(SENTINEL)
    graph.replay()
    case.check(d, "labels")
    assert not bool(d[384:].any())
    contiguous("fp8")(case.a, case.b, e, case.ends, use_psum_layout=True)
    case.check(e, "ends")
    assert bool((e[384:] == SENTINEL).all())


@pytest.mark.parametrize(("m", "n"), [(2048, 768), (768, 1536)])
def test_a_hundred_and_twenty_eight_weight_gradients(m: int, n: int) -> None:
    needs_memory(40)
    groups, k = 128, 4096
    g = torch.Generator("cuda").manual_seed(1)
    a, b = (
        (torch.randn(groups * k, mn, generator=g, device="cuda") / 4).to(torch.float8_e4m3fn)
        for mn in (m, n)
    )
    flat = [x.view(groups, k, -1).transpose(1, 2).contiguous().flatten() for x in (a, b)]
    scales = [torch.rand(groups * k // 128, mn, generator=g, device="cuda") + 0.5 for mn in (m, n)]
    d = torch.full((groups, m, n), SENTINEL, device="cuda")
    layout = torch.full((groups,), k, dtype=torch.int32, device="cuda")
    deep_gemm.k_grouped_fp8_gemm_nt_contiguous(
        (flat[0], scales[0].t()), (flat[1], scales[1].t()), d, [k] * groups, layout, None
    )
    for group in (0, 1, 63, 127):
        rows = slice(group * k, group * k + k)
        blocks = slice(group * k // 128, (group + 1) * k // 128)
        x, y = (
            z[rows].double() * s[blocks].double().repeat_interleave(128, 0)
            for z, s in ((a, scales[0]), (b, scales[1]))
        )
        assert_close(d[group], x.t() @ y, magnitude=x.abs().t() @ y.abs(), k=k, case=f"{group}")


def test_a_product_of_m_and_k_beyond_two_to_the_31() -> None:
    needs_memory(60)
    m, n, ks = 7168, 64, [102400, 0, 102400, 102400]
    g = torch.Generator("cuda").manual_seed(2)
    a = torch.randn(sum(ks), m, generator=g, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(sum(ks), n, generator=g, device="cuda", dtype=torch.bfloat16)
    d = torch.full((4, m, n), SENTINEL, device="cuda")
    layout = torch.tensor(ks, dtype=torch.int32, device="cuda")
    deep_gemm.k_grouped_bf16_gemm_tn_contiguous(a, b, d, ks, layout)
    assert not bool(d[1].any())
    for group, start in ((0, 0), (2, 102400), (3, 204800)):
        rows = slice(start, start + 102400)
        x, y = a[rows, -64:].double(), b[rows].double()
        assert_close(
            d[group, -64:], x.t() @ y, magnitude=x.abs().t() @ y.abs(), k=102400, case=f"{group}"
        )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_the_last_of_many_masked_groups_lies_beyond_two_to_the_31(dtype: torch.dtype) -> None:
    needs_memory(60)
    groups, room, n, k = 72, 4096, 8192, 128
    a = torch.zeros(groups, room, k, dtype=torch.uint8, device="cuda").view(torch.float8_e4m3fn)
    b = torch.zeros(groups, n, k, dtype=torch.uint8, device="cuda").view(torch.float8_e4m3fn)
    scales = (
        torch.zeros(groups, room, 1, device="cuda"), torch.zeros(groups, n // 128, 1, device="cuda")
    )  # fmt: skip
    last = Masked.make([77], 128, n, k, "fp8", "cuda")
    for whole, part in zip((a, b, *scales), (last.a[0], last.b[0], last.a[1], last.b[1]),
                           strict=True):  # fmt: skip
        whole.view(torch.uint8)[-1, : part.size(1)] = part[0].view(torch.uint8)
    counts = torch.zeros(groups, dtype=torch.int32, device="cuda")
    counts[-1], counts[0] = 77, 1
    d = torch.full((groups, room, n), SENTINEL, dtype=dtype, device="cuda")
    deep_gemm.m_grouped_fp8_gemm_nt_masked((a, scales[0]), (b, scales[1]), d, counts, 1)
    last.check(d[-1:, :128], "last group")
    assert bool((d[1:-1] == SENTINEL).all()) and not bool(d[0, 0].any())
    assert bool((d[-1, 128:] == SENTINEL).all())
