"""einsum and fp8_einsum against float64, over strides, accumulation, dtypes and empty batches."""

import pytest
import torch

import deep_gemm
from deep_gemm import _ops, errors, reference
from deep_gemm.testing import calc_diff
from deep_gemm.utils import ceil_div, per_block_cast_to_fp8, per_token_cast_to_fp8
from tests.support.devices import DEVICES

HEADS = ["bhr,hdr->bhd", "bhd,hdr->bhr", "bhd,bhr->hdr"]
SIZES = [
    {"b": 5, "h": 3, "d": 7, "r": 33},
    {"b": 4, "h": 8, "d": 128, "r": 512},
    {"b": 33, "h": 2, "d": 64, "r": 200},
    {"b": 1, "h": 1, "d": 1, "r": 1},
    {"b": 130, "h": 4, "d": 136, "r": 72},
]


def shapes(expr: str, sizes: dict[str, int]) -> list[tuple[int, ...]]:
    return [tuple(sizes[x] for x in part) for part in expr.replace("->", ",").split(",")]


def randn(shape: tuple[int, ...], device: str, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator).bfloat16().to(device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=lambda x: "-".join(f"{k}{v}" for k, v in x.items()))
@pytest.mark.parametrize("expr", HEADS)
def test_heads(expr: str, sizes: dict[str, int], dtype: torch.dtype, device: str) -> None:
    shape_a, shape_b, shape_d = shapes(expr, sizes)
    a, b = randn(shape_a, device, 1), randn(shape_b, device, 2)
    d = torch.full(shape_d, torch.nan, dtype=dtype, device=device)
    deep_gemm.einsum(expr, a, b, d)
    want = reference.einsum(expr, a, b)
    assert calc_diff(d, want) < (1e-5 if dtype == torch.bfloat16 else 1e-11)
    c = randn(shape_d, device, 3).to(dtype)
    saved = c.clone()
    d.fill_(torch.nan)
    deep_gemm.einsum(expr, a, b, d, c)
    assert torch.equal(c, saved)
    assert calc_diff(d, want + c.double()) < (2e-5 if dtype == torch.bfloat16 else 1e-11)
    deep_gemm.einsum(expr, a, b, c, c=c)
    assert torch.equal(c, d)


@pytest.mark.parametrize("device", DEVICES)
def test_operands_may_be_slices_of_wider_tensors(device: str) -> None:
    a, b = randn((6, 3, 80), device, 1), randn((3, 40, 96), device, 2)
    d = torch.full((6, 3, 64), -3.0, dtype=torch.bfloat16, device=device)
    deep_gemm.einsum("bhr,hdr->bhd", a[:, :, 8:72], b[:, :, :64], d[:, :, 16:56])
    want = reference.einsum("bhr,hdr->bhd", a[:, :, 8:72], b[:, :, :64])
    assert calc_diff(d[:, :, 16:56], want) < 1e-5
    assert bool((d[:, :, :16] == -3).all()) and bool((d[:, :, 56:] == -3).all())
    # A [b, h, r] view of a buffer that keeps heads first.
    heads_first = a.transpose(0, 1).contiguous().transpose(0, 1)
    e = torch.empty(6, 3, 40, dtype=torch.bfloat16, device=device)
    deep_gemm.einsum("bhr,hdr->bhd", heads_first[:, :, 8:72], b[:, :, :64], e)
    assert torch.equal(e, d[:, :, 16:56])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("sizes", [(1, 64, 64, 64), (129, 128, 384, 128), (7, 5, 9, 3)], ids=str)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_sum_over_the_batch(
    sizes: tuple[int, int, int, int], dtype: torch.dtype, device: str
) -> None:
    s, m, n, k = sizes
    a, b = randn((s, m, k), device, 1), randn((s, n, k), device, 2)
    d = torch.full((m, n), torch.nan, dtype=dtype, device=device)
    deep_gemm.einsum("bmk,bnk->mn", a, b, d)
    want = reference.einsum("bmk,bnk->mn", a, b)
    assert calc_diff(d, want) < 1e-5
    before = d.clone()
    deep_gemm.einsum("bmk,bnk->mn", a, b, d, c=d)
    assert calc_diff(d, want + before.double()) < 1e-5


def fp8_operands(
    expr: str, sizes: dict[str, int], device: str
) -> tuple[tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    """a with a scale per 128 of k, b with one per 128x128, both stored in the order of `expr`."""
    shape_a, shape_b, _ = shapes(expr, sizes)
    permute_a = {"bhr,hdr->bhd": (1, 0, 2), "bhd,hdr->bhr": (1, 0, 2), "bhd,bhr->hdr": (1, 2, 0)}
    permute_b = {"bhr,hdr->bhd": (0, 1, 2), "bhd,hdr->bhr": (0, 2, 1), "bhd,bhr->hdr": (1, 2, 0)}

    def quantise(x: torch.Tensor, order: tuple[int, ...], cast) -> tuple:
        inverse = sorted(range(3), key=order.__getitem__)
        pairs = [cast(part.contiguous(), use_ue8m0=False) for part in x.permute(order)]
        data = torch.stack([p[0].view(torch.uint8) for p in pairs]).permute(inverse).contiguous()
        scale = torch.stack([p[1] for p in pairs]).permute(inverse).contiguous()
        return data.view(torch.float8_e4m3fn), scale

    a, b = randn(shape_a, device, 1), randn(shape_b, device, 2)
    return (
        quantise(a, permute_a[expr], per_token_cast_to_fp8),
        quantise(b, permute_b[expr], per_block_cast_to_fp8),
    )


FP8_SIZES = [
    {"b": 4, "h": 8, "d": 128, "r": 512},
    {"b": 33, "h": 2, "d": 256, "r": 384},
    {"b": 17, "h": 3, "d": 144, "r": 208},
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("sizes", FP8_SIZES, ids=lambda x: "-".join(map(str, x.values())))
@pytest.mark.parametrize("expr", HEADS)
def test_fp8(expr: str, sizes: dict[str, int], device: str) -> None:
    a, b = fp8_operands(expr, sizes, device)
    want = reference.fp8_einsum(expr, a, b)
    for dtype in (torch.bfloat16, torch.float32):
        d = torch.full(shapes(expr, sizes)[2], torch.nan, dtype=dtype, device=device)
        deep_gemm.fp8_einsum(expr, a, b, d)
        # Hopper's FP8 accumulator keeps fewer bits than float32 within 128 of k.
        assert calc_diff(d, want) < (1e-5 if dtype == torch.bfloat16 else 1e-6)


@pytest.mark.parametrize("device", DEVICES)
def test_fp8_scales_may_be_aligned_already(device: str) -> None:
    sizes = {"b": 33, "h": 2, "d": 256, "r": 384}
    (a, a_scale), b = fp8_operands("bhr,hdr->bhd", sizes, device)
    d, e = (torch.zeros(33, 2, 256, dtype=torch.bfloat16, device=device) for _ in range(2))
    deep_gemm.fp8_einsum("bhr,hdr->bhd", (a, a_scale), b, d)
    aligned = deep_gemm.get_mn_major_tma_aligned_tensor(a_scale.transpose(0, 1)).transpose(0, 1)
    assert aligned.transpose(0, 1).stride() == (36 * ceil_div(384, 128), 1, 36)
    heads_first = a.view(torch.uint8).transpose(0, 1).contiguous().transpose(0, 1).view(a.dtype)
    deep_gemm.fp8_einsum("bhr,hdr->bhd", (heads_first, aligned), b, e)
    assert torch.equal(d, e)


@pytest.mark.parametrize("expr", HEADS)
def test_empty_sizes_write_what_they_must(expr: str) -> None:
    for empty in "bhdr":
        sizes = {"b": 3, "h": 2, "d": 4, "r": 5, empty: 0}
        shape_a, shape_b, shape_d = shapes(expr, sizes)
        d = torch.full(shape_d, 7.0, dtype=torch.float32)
        a, b = torch.zeros(shape_a).bfloat16(), torch.zeros(shape_b).bfloat16()
        deep_gemm.einsum(expr, a, b, d)
        assert bool((d == 0).all())
        c = torch.full(shape_d, 2.0)
        deep_gemm.einsum(expr, a, b, d, c)
        assert torch.equal(c, d)


@pytest.mark.parametrize(
    ("rule", "expr", "a", "b", "d"),
    [
        ("EINSUM_EXPRESSION", "ij,jk->ik", (2, 3, 4), (3, 5, 4), (2, 3, 5)),
        ("EINSUM_RANK", "bhr,hdr->bhd", (2, 4), (3, 5, 4), (2, 3, 5)),
        ("EINSUM_BATCH", "bhr,hdr->bhd", (2, 3, 4), (2, 5, 4), (2, 3, 5)),
        ("EINSUM_BATCH", "bmk,bnk->mn", (2, 3, 4), (3, 5, 4), (3, 5)),
        ("SAME_K", "bhr,hdr->bhd", (2, 3, 4), (3, 5, 6), (2, 3, 5)),
        ("SHAPE_D", "bhd,hdr->bhr", (2, 3, 4), (3, 4, 6), (2, 3, 5)),
    ],
)
def test_a_wrong_call_is_refused_by_rule(
    rule: str, expr: str, a: tuple, b: tuple, d: tuple
) -> None:
    operands = [torch.zeros(x, dtype=torch.bfloat16) for x in (a, b, d)]
    with pytest.raises((errors.InvalidArgument, errors.Unsupported), match=f"Rule {rule}") as why:
        deep_gemm.einsum(expr, *operands)
    assert rule != "EINSUM_EXPRESSION" or "Unsupported einsum expression: ij,jk->ik" in str(
        why.value
    )


def operator(name: str) -> torch._ops.OpOverload:
    return getattr(getattr(torch.ops, _ops.NAMESPACE), name).default


@pytest.mark.parametrize("expr", HEADS)
def test_opcheck(expr: str) -> None:
    shape_a, shape_b, shape_d = shapes(expr, {"b": 4, "h": 2, "d": 128, "r": 128})
    a, b, d = (torch.ones(x, dtype=torch.bfloat16) for x in (shape_a, shape_b, shape_d))
    torch.library.opcheck(operator("einsum"), (expr, a, b, d))
    a8, b8 = fp8_operands(expr, {"b": 4, "h": 2, "d": 128, "r": 128}, "cpu")
    checks = ("test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    torch.library.opcheck(operator("fp8_einsum"), (expr, *a8, *b8, d), test_utils=checks)


def test_full_graph_over_several_sizes() -> None:
    weight = randn((2, 24, 64), "cpu", 2)

    def project(x: torch.Tensor) -> torch.Tensor:
        out = x.new_empty((x.size(0), 2, 24))
        deep_gemm.einsum("bhr,hdr->bhd", x, weight, out)
        gram = torch.empty((2, 2), dtype=torch.float32)
        deep_gemm.einsum("bmk,bnk->mn", x, x, gram)
        return out * gram.sum().to(out.dtype)

    torch._dynamo.reset()
    compiled = torch.compile(project, fullgraph=True, dynamic=True, backend="aot_eager")
    for b in (2, 3, 17):
        x = randn((b, 2, 64), "cpu", b)
        assert torch.equal(compiled(x), project(x))


def test_supports_answers_from_the_call_itself() -> None:
    args = [torch.empty(x, dtype=torch.bfloat16) for x in ((4, 2, 64), (2, 24, 64), (4, 2, 24))]
    assert deep_gemm.supports("einsum", "bhr,hdr->bhd", *args) == (True, "")
    assert deep_gemm.supports("fp8_einsum") == (True, "")
