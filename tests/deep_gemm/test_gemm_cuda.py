"""Dense GEMMs where only a GPU shows the fault: odd addresses, tuned tiles, streams and graphs."""

import pytest
import torch

import deep_gemm
from deep_gemm import reference
from tests.support import devices
from tests.support.cases import GemmCase, bf16_operands, poisoned, randn, stored
from tests.support.tolerances import assert_close

on_cuda = devices.fixture_of_cuda()
Pair = tuple[torch.Tensor, torch.Tensor]


def fp8_operands(
    case: GemmCase, gran_n: int = 128, generator: torch.Generator | None = None
) -> tuple[Pair, Pair]:
    generator = generator or case.generator()
    a, b = (randn(generator, rows, case.k).bfloat16() for rows in (case.m, case.n))
    cast_b = deep_gemm.per_block_cast_to_fp8 if gran_n == 128 else deep_gemm.per_token_cast_to_fp8
    return deep_gemm.per_token_cast_to_fp8(a, False), cast_b(b, False)


def check_fp8(d: torch.Tensor, a: Pair, b: Pair, case: GemmCase, gran_n: int = 128) -> None:
    want = reference.fp8_gemm(*a, *b, recipe_a=(1, 128), recipe_b=(gran_n, 128))
    lhs = reference.dequantise(*a, 1, 128).abs()
    rhs = reference.dequantise(*b, gran_n, 128).abs()
    bound = lhs @ rhs.t()
    assert_close(d, want, magnitude=bound, k=case.k, case=str(case), roundings=2, fp8=True)


def shifted(x: torch.Tensor, elements: int) -> torch.Tensor:
    """A copy of x that starts `elements` behind an aligned address, its rows padded by one."""
    rows, columns = x.shape
    pitch = columns + elements + 1
    view = torch.zeros(rows, pitch).to(x.dtype)[:, elements : elements + columns]
    view.copy_(x)
    return view


def plan_of(a: Pair, b: Pair, d: torch.Tensor) -> str:
    return deep_gemm.plan("fp8_gemm_nt", a, b, d)["plan"]


SIZES = [
    (1, 2112, 7168), (7, 576, 7168), (9, 512, 1024), (64, 2112, 512), (65, 4096, 640),
    (128, 7168, 128), (129, 136, 16400), (300, 264, 144), (511, 1024, 2048), (1000, 520, 1552),
    (4096, 256, 1024),
]  # fmt: skip


@pytest.mark.parametrize("case", [GemmCase(*sizes) for sizes in SIZES], ids=str)
def test_aligned_fp8_products_match_at_tile_edges(case: GemmCase) -> None:
    a, b = fp8_operands(case)
    d = poisoned(case.m, case.n)
    deep_gemm.fp8_gemm_nt(a, b, d)
    check_fp8(d, a, b, case)
    again = poisoned(case.m, case.n)
    for number in range(20):
        deep_gemm.fp8_gemm_nt(a, b, again)
        deep_gemm.testing.assert_bitwise_equal(again, d, f"{case}, call {number}")
        again.fill_(float("nan"))


def test_hopper_takes_its_own_kernel_where_it_may() -> None:
    if torch.cuda.get_device_capability()[0] != 9:
        pytest.skip("the tuned kernel is for compute 9.0")
    case = GemmCase(128, 512, 1024)
    a, b = fp8_operands(case)
    assert plan_of(a, b, poisoned(128, 512)).startswith("sm90 ")
    assert plan_of(a, b, poisoned(128, 512, dtype=torch.float32)).startswith("sm90 ")


@pytest.mark.parametrize("m", [*range(1, 40, 3), 63, 64, 65, 127, 128, 129, 200, 255, 257, 300])
def test_every_number_of_rows_matches_with_row_and_column_major_scales(m: int) -> None:
    case = GemmCase(m, 384, 512)
    a, b = fp8_operands(case)
    d, e, f = (poisoned(m, 384) for _ in range(3))
    deep_gemm.fp8_gemm_nt(a, b, d)
    check_fp8(d, a, b, case)
    turned = deep_gemm.get_mn_major_tma_aligned_tensor(a[1])
    deep_gemm.fp8_gemm_nt((a[0], turned), b, e)
    deep_gemm.testing.assert_bitwise_equal(e, d, "column-major scales")
    padded = shifted(a[1], 1)
    deep_gemm.fp8_gemm_nt((a[0], padded), b, f)
    deep_gemm.testing.assert_bitwise_equal(f, d, "scales at an odd address")


@pytest.mark.parametrize("offset", [1, 2, 4, 8])
@pytest.mark.parametrize("which", ["a", "b", "both"])
def test_operands_at_any_address_match(offset: int, which: str) -> None:
    case = GemmCase(37, 130, 333)
    a, b = fp8_operands(case)
    a_data = shifted(a[0], offset) if which != "b" else a[0]
    b_data = shifted(b[0], offset) if which != "a" else b[0]
    d = poisoned(37, 130)
    deep_gemm.fp8_gemm_nt((a_data, a[1]), (b_data, b[1]), d)
    check_fp8(d, a, b, case)
    x, y = bf16_operands(case)
    e = poisoned(37, 130, dtype=torch.float32)
    deep_gemm.bf16_gemm_nt(shifted(x, offset), shifted(y, offset), e)
    bound = reference.bf16_gemm(x.abs(), y.abs())
    assert_close(e, reference.bf16_gemm(x, y), magnitude=bound, k=333, case=f"bf16 +{offset}")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_outputs_at_any_address_match_and_spare_their_neighbours(dtype: torch.dtype) -> None:
    case = GemmCase(33, 64, 256)
    a, b = fp8_operands(case)
    for offset in (0, 1, 3):
        holder = torch.full((33, 71), -3.0, dtype=dtype)
        d = holder[:, offset : offset + 64]
        deep_gemm.fp8_gemm_nt(a, b, d)
        check_fp8(d, a, b, case)
        assert bool((holder[:, :offset] == -3).all()) and bool(
            (holder[:, offset + 64 :] == -3).all()
        )


@pytest.mark.parametrize("layout", ["nt", "nn", "tn", "tt"])
@pytest.mark.parametrize("case", [GemmCase(256, 384, 512), GemmCase(40, 96, 65)], ids=str)
def test_bf16_in_every_storage_order(case: GemmCase, layout: str) -> None:
    a, b = bf16_operands(case)
    d = poisoned(case.m, case.n, dtype=torch.float32)
    op = getattr(deep_gemm, f"bf16_gemm_{layout}")
    op(stored(a, layout[0] == "t"), stored(b, layout[1] == "n"), d)
    bound = reference.bf16_gemm(a.abs(), b.abs())
    assert_close(d, reference.bf16_gemm(a, b), magnitude=bound, k=case.k, case=f"{case}-{layout}")


def test_a_captured_call_replays_on_new_data() -> None:
    case = GemmCase(96, 512, 1024)
    a, b = fp8_operands(case)
    d, c = poisoned(96, 512), poisoned(96, 512, dtype=torch.float32)
    deep_gemm.fp8_gemm_nt(a, b, d)
    deep_gemm.fp8_gemm_nt(a, b, c)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        deep_gemm.fp8_gemm_nt(a, b, d)
        deep_gemm.fp8_gemm_nt(a, b, c)
    fresh_a, fresh_b = fp8_operands(case, generator=torch.Generator("cpu").manual_seed(1))
    for to, source in zip((*a, *b), (*fresh_a, *fresh_b), strict=True):
        assert not torch.equal(to.float(), source.float())
        to.copy_(source)
    d.fill_(float("nan"))
    c.fill_(float("nan"))
    graph.replay()
    check_fp8(d, a, b, case)
    check_fp8(c, a, b, case)


def test_a_side_stream_orders_the_call_behind_its_inputs() -> None:
    case = GemmCase(512, 512, 4096)
    a, b = fp8_operands(case)
    d = poisoned(512, 512)
    deep_gemm.fp8_gemm_nt(a, b, d)
    held = a[0].clone()
    a[0].zero_()
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    e = poisoned(512, 512)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        a[0].copy_(held)
        deep_gemm.fp8_gemm_nt(a, b, e)
    stream.synchronize()
    deep_gemm.testing.assert_bitwise_equal(e, d, "side stream")


@pytest.mark.parametrize("pdl", [False, True])
@pytest.mark.parametrize("num_sms", [1, 7, 64])
def test_fewer_sms_and_dependent_launch_change_no_bit(num_sms: int, pdl: bool) -> None:
    case = GemmCase(300, 640, 1024)
    a, b = fp8_operands(case)
    d, e = poisoned(300, 640), poisoned(300, 640)
    f, g = (poisoned(300, 640, dtype=torch.float32) for _ in range(2))
    deep_gemm.fp8_gemm_nt(a, b, d)
    deep_gemm.fp8_gemm_nt(a, b, f)
    all_sms = deep_gemm.get_num_sms()
    deep_gemm.set_num_sms(num_sms)
    deep_gemm.set_pdl(pdl)
    try:
        for _ in range(3):
            deep_gemm.fp8_gemm_nt(a, b, e)
            deep_gemm.fp8_gemm_nt(a, b, g)
    finally:
        deep_gemm.set_pdl(False)
        deep_gemm.set_num_sms(all_sms)
    deep_gemm.testing.assert_bitwise_equal(e, d, f"{num_sms} SMs, bf16")
    deep_gemm.testing.assert_bitwise_equal(g, f, f"{num_sms} SMs, fp32")


def test_offsets_above_two_to_the_31_elements_are_reached() -> None:
    if torch.cuda.get_device_properties(0).total_memory < 24 << 30:
        pytest.skip("needs 24 GB of device memory")
    rows, k = 131_080, 16_512
    a = torch.zeros(rows, k, dtype=torch.uint8).view(torch.float8_e4m3fn)
    last, b = fp8_operands(GemmCase(8, 64, k))
    a[-8:].view(torch.uint8).copy_(last[0].view(torch.uint8))
    scale = torch.zeros(rows, k // 128)
    scale[-8:] = last[1]
    for dtype in (torch.bfloat16, torch.float32):
        d = poisoned(rows, 64, dtype=dtype)
        deep_gemm.fp8_gemm_nt((a, scale), b, d)
        check_fp8(d[-8:], last, b, GemmCase(8, 64, k))
        assert not bool(d[:-8].any())
