"""tf32_hc_prenorm_gemm against the float64 product of the TF32-rounded operand."""

import pytest
import torch

import deep_gemm
from deep_gemm import _ops, errors, reference
from deep_gemm.testing import calc_diff
from tests.support.devices import DEVICES

CASES = [
    # m, n, k, splits: every tile edge, one row, guarded k, more splits than blocks of k
    (1, 24, 64, None),
    (1, 1, 1, None),
    (5, 3, 37, 2),
    (13, 24, 7168, None),
    (13, 24, 7168, 16),
    (137, 24, 7680, 16),
    (16, 8, 128, 1),
    (17, 16, 640, 3),
    (31, 32, 192, 5),
    (33, 32, 96, None),
    (65, 24, 1024, 16),
    (129, 40, 320, 2),
    (200, 65, 100, 4),
    (300, 24, 448, 7),
    (515, 24, 512, 2),
    (1030, 24, 448, 1),
]
GPU_CASES = [
    (4096, 24, 7168, None),
    (4096, 24, 7168, 16),
    (4096, 24, 7680, 16),
    (8192, 24, 7168, None),
    (8192, 24, 7168, 16),
    (137, 24, 28672, None),
    (13, 24, 28672, 16),
    (2048, 24, 7168, 4),
    (1024, 16, 7168, None),
    (700, 32, 7168, 2),
]


def operands(m: int, n: int, k: int, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(m * 7919 + n * 31 + k)
    a = torch.randn(m, k, generator=generator).bfloat16()
    return a.to(device), torch.randn(n, k, generator=generator).to(device)


def outputs(m: int, n: int, splits: int | None, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    lead = () if splits is None else (splits,)
    d = torch.full((*lead, m, n), torch.nan, dtype=torch.float32, device=device)
    return d, torch.full((*lead, m), torch.nan, dtype=torch.float32, device=device)


def check(case: tuple[int, int, int, int | None], device: str) -> None:
    m, n, k, splits = case
    a, b = operands(m, n, k, device)
    d, squares = outputs(m, n, splits, device)
    assert deep_gemm.tf32_hc_prenorm_gemm(a, b, d, squares, splits) is None
    want, want_squares = reference.tf32_hc_prenorm_gemm(a, b, splits)
    assert calc_diff(d, want) < 1e-9
    assert calc_diff(squares, want_squares) < 1e-11
    magnitude = a.double().abs() @ b.double().abs().t()
    assert bool(((d.double() - want).abs() <= 2e-5 * magnitude + 1e-30).all())
    if splits is not None:
        whole, whole_squares = reference.tf32_hc_prenorm_gemm(a, b)
        assert calc_diff(d.sum(0), whole) < 1e-9 and calc_diff(squares.sum(0), whole_squares) < 1e-9


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_product_and_squares_are_those_of_the_reference(case: tuple, device: str) -> None:
    check(case, device)


@pytest.mark.parametrize("device", DEVICES[1:])
@pytest.mark.parametrize("case", GPU_CASES, ids=str)
def test_published_shapes(case: tuple, device: str) -> None:
    check(case, device)


@pytest.mark.parametrize("device", DEVICES)
def test_a_split_without_blocks_is_zero(device: str) -> None:
    a, b = operands(40, 24, 128, device)
    d, squares = outputs(40, 24, 5, device)
    deep_gemm.tf32_hc_prenorm_gemm(a, b, d, squares, num_splits=5)
    assert not d[2:].any() and not squares[2:].any() and bool(d[:2].all())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("pad", [8, 3])
def test_rows_may_be_padded_and_start_anywhere(pad: int, device: str) -> None:
    a, b = operands(70, 24, 256, device)
    wide_a = torch.full((70, 256 + pad), torch.nan, dtype=torch.bfloat16, device=device)
    wide_b = torch.full((24, 256 + pad), torch.nan, device=device)
    wide_a[:, pad:], wide_b[:, pad:] = a, b
    d, squares = outputs(70, 24, 3, device)
    e, other = outputs(70, 24, 3, device)
    deep_gemm.tf32_hc_prenorm_gemm(wide_a[:, pad:], wide_b[:, pad:], d, squares, 3)
    deep_gemm.tf32_hc_prenorm_gemm(a, b, e, other, 3)
    assert calc_diff(d, e) < 1e-10 and calc_diff(squares, other) < 1e-11
    assert bool(d.isfinite().all())


@pytest.mark.parametrize("device", DEVICES)
def test_a_row_does_not_depend_on_its_neighbours(device: str) -> None:
    a, b = operands(300, 24, 448, device)
    d, squares = outputs(300, 24, 2, device)
    deep_gemm.tf32_hc_prenorm_gemm(a, b, d, squares, 2)
    a[7] = torch.nan
    e, other = outputs(300, 24, 2, device)
    deep_gemm.tf32_hc_prenorm_gemm(a, b, e, other, 2)
    keep = torch.arange(300, device=device) != 7
    assert torch.equal(d[:, keep], e[:, keep]) and torch.equal(squares[:, keep], other[:, keep])
    assert bool(e[:, 7].isnan().all()) and bool(other[:, 7].isnan().all())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "case", [(300, 24, 448, 2), (13, 24, 7168, 16), (500, 24, 7168, None)], ids=str
)
def test_twenty_calls_give_the_same_bits(case: tuple, device: str) -> None:
    m, n, k, splits = case
    a, b = operands(m, n, k, device)
    first, squares = outputs(m, n, splits, device)
    deep_gemm.tf32_hc_prenorm_gemm(a, b, first, squares, splits)
    for _ in range(20 if device == "cuda" else 3):
        d, other = outputs(m, n, splits, device)
        deep_gemm.tf32_hc_prenorm_gemm(a, b, d, other, splits)
        assert torch.equal(first, d) and torch.equal(squares, other)


@pytest.mark.parametrize("device", DEVICES)
def test_special_values_of_b_stay(device: str) -> None:
    a = torch.ones(3, 64, dtype=torch.bfloat16, device=device)
    b = torch.zeros(8, 64, device=device)
    for row, value in enumerate(
        [torch.inf, -torch.inf, torch.nan, torch.finfo(torch.float32).max, 1 + 2**-11]
    ):
        b[row, 5] = value
    d, squares = outputs(3, 8, None, device)
    deep_gemm.tf32_hc_prenorm_gemm(a, b, d, squares)
    want = reference.tf32_hc_prenorm_gemm(a, b)[0].float()
    assert torch.equal(d.isnan(), want.isnan())
    assert torch.equal(d.nan_to_num(), want.nan_to_num())


@pytest.mark.parametrize("device", DEVICES)
def test_no_rows_write_nothing(device: str) -> None:
    a, b = operands(0, 24, 128, device)
    d, squares = outputs(0, 24, 2, device)
    deep_gemm.tf32_hc_prenorm_gemm(a, b, d, squares, 2)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU that torch can use")
def test_a_captured_call_reads_what_is_there_at_replay() -> None:
    a, b = operands(137, 24, 7168, "cuda")
    d, squares = outputs(137, 24, 16, "cuda")
    deep_gemm.tf32_hc_prenorm_gemm(a, b, d, squares, 16)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        deep_gemm.tf32_hc_prenorm_gemm(a, b, d, squares, 16)
    a.copy_(torch.randn_like(a))
    graph.replay()
    want, want_squares = reference.tf32_hc_prenorm_gemm(a, b, 16)
    assert calc_diff(d, want) < 1e-9 and calc_diff(squares, want_squares) < 1e-11


BAD = {
    "HC_DTYPE": lambda a, b, d, s: (a.float(), b, d, s),
    "HC_SAME_K": lambda a, b, d, s: (a, b[:, :64], d, s),
    "HC_OUTPUT_SHAPE": lambda a, b, d, s: (a, b, d[:, :23], s),
    "HC_OUTPUT_CONTIGUOUS": lambda a, b, d, s: (a, b, d.t().contiguous().t(), s),
    "HC_K_MAJOR": lambda a, b, d, s: (a.t().contiguous().t(), b, d, s),
    "RANK_MATRIX": lambda a, b, d, s: (a[None], b, d, s),
    "HC_SIZES": lambda a, b, d, s: (a[:, :0], b[:, :0], d, s),
}


@pytest.mark.parametrize("rule", BAD)
def test_a_wrong_call_is_refused_by_rule_and_writes_nothing(rule: str) -> None:
    a, b = operands(9, 24, 128, "cpu")
    d, squares = outputs(9, 24, None, "cpu")
    with pytest.raises(errors.InvalidArgument, match=f"Rule {rule}"):
        deep_gemm.tf32_hc_prenorm_gemm(*BAD[rule](a, b, d, squares))
    assert bool(d.isnan().all()) and bool(squares.isnan().all())


def test_outputs_with_one_split_keep_the_leading_dimension() -> None:
    a, b = operands(9, 24, 128, "cpu")
    d, squares = outputs(9, 24, None, "cpu")
    with pytest.raises(errors.InvalidArgument, match="HC_OUTPUT_SHAPE"):
        deep_gemm.tf32_hc_prenorm_gemm(a, b, d, squares, 1)
    with pytest.raises(errors.InvalidArgument, match="HC_SPLITS"):
        deep_gemm.tf32_hc_prenorm_gemm(a, b, d, squares, 0)


def operator() -> torch._ops.OpOverload:
    return getattr(torch.ops, _ops.NAMESPACE).tf32_hc_prenorm_gemm.default


@pytest.mark.parametrize("splits", [None, 3])
def test_opcheck(splits: int | None) -> None:
    a, b = operands(9, 24, 128, "cpu")
    d, squares = (x.zero_() for x in outputs(9, 24, splits, "cpu"))
    torch.library.opcheck(operator(), (a, b, d, squares, splits))


def test_full_graph_over_several_sizes() -> None:
    b = operands(1, 24, 256, "cpu")[1]

    def norm(x: torch.Tensor) -> torch.Tensor:
        d = x.new_empty((4, x.size(0), 24), dtype=torch.float32)
        squares = x.new_empty((4, x.size(0)), dtype=torch.float32)
        deep_gemm.tf32_hc_prenorm_gemm(x, b, d, squares, num_splits=4)
        return d.sum(0) * torch.rsqrt(squares.sum(0) / 256 + 1e-6).unsqueeze(1)

    torch._dynamo.reset()
    compiled = torch.compile(norm, fullgraph=True, dynamic=True, backend="aot_eager")
    for m in (2, 3, 17, 64):
        x = operands(m, 24, 256, "cpu")[0]
        assert torch.equal(compiled(x), norm(x))


@pytest.mark.parametrize("arch", ["80", "89", "90a", "100a", "120a", "x86-64-v3"])
def test_supports_answers_for_another_machine(arch: str) -> None:
    a, b = (torch.empty(x, device="meta") for x in ((64, 7168), (24, 7168)))
    d, squares = (torch.empty(x, device="meta") for x in ((16, 64, 24), (16, 64)))
    args = (a.bfloat16(), b, d, squares)
    assert deep_gemm.supports("tf32_hc_prenorm_gemm", *args, 16, arch=arch) == (True, "")
    ok, why = deep_gemm.supports("tf32_hc_prenorm_gemm", *args, 15, arch=arch)
    assert not ok and "HC_OUTPUT_SHAPE" in why
    family = "host" if arch[0] == "x" else "sm90" if arch == "90a" else "portable"
    plan = deep_gemm.plan("tf32_hc_prenorm_gemm", *args, 16, arch=arch)
    assert plan["plan"].startswith(family) and "tf32_hc_prenorm_gemm" in plan["kernel"]
