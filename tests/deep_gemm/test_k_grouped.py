"""GEMMs grouped along k against the float64 reference: storages, empty groups, scales, aliasing.

Longer than usual: the four storages share one maker of operands.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import deep_gemm
from deep_gemm import errors
from deep_gemm.reference import dequantise
from tests.support.devices import DEVICES
from tests.support.grouped import SENTINEL, generator, moved, round_up
from tests.support.tolerances import assert_close

FP8_NT = deep_gemm.k_grouped_fp8_gemm_nt_contiguous
FP8_TN = deep_gemm.k_grouped_fp8_gemm_tn_contiguous
FP4_NT = deep_gemm.k_grouped_fp4_gemm_nt_contiguous
BF16_TN = deep_gemm.k_grouped_bf16_gemm_tn_contiguous
KS = [
    [128],
    [256, 128, 384],
    [0, 128, 256],
    [128, 0, 256],
    [128, 256, 0],
    [0, 0, 0],
    [128] * 5,
]


@dataclass
class KGrouped:
    """One product a group; `product` and `magnitude` are [groups, m, n] without c."""

    a: Any
    b: Any
    ks: list[int]
    layout: torch.Tensor
    c: torch.Tensor
    product: torch.Tensor
    magnitude: torch.Tensor

    def check(self, d: torch.Tensor, case: str, c: torch.Tensor | None) -> None:
        want = self.product + (0 if c is None else c.cpu().double())
        magnitude = self.magnitude + (0 if c is None else c.cpu().double().abs())
        assert_close(d.cpu(), want, magnitude=magnitude, k=max(self.ks), case=case)

    def d(self, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.full(self.c.shape, SENTINEL, dtype=dtype, device=self.c.device)


def make(op: Any, ks: Sequence[int], m: int, n: int, device: str, gran_k: int = 128) -> KGrouped:
    """Operands of `op` for these sizes: each group is quantised by itself, then stored its way."""
    g = generator(op.__name__, tuple(ks), m, n)
    blocks, values = [], []
    for k in ks:
        sides = []
        for mn in (m, n):
            x = torch.randn(mn, k, generator=g)
            if op is BF16_TN:
                sides.append((x.bfloat16(), None))
            elif op is FP4_NT:
                sides.append(deep_gemm.per_token_cast_to_fp4(x, use_ue8m0=True, gran_k=32))
            else:
                sides.append(deep_gemm.per_token_cast_to_fp8(x, use_ue8m0=False, gran_k=gran_k))
        blocks.append(sides)
        grain = 32 if op is FP4_NT else gran_k
        values.append(
            [x.double() if s is None else dequantise(x, s, 1, grain) for x, s in sides]
        )  # fmt: skip
    product = torch.stack([a @ b.t() for a, b in values])
    magnitude = torch.stack([a.abs() @ b.abs().t() for a, b in values])
    operands = []
    for side in (0, 1):
        data = [group[side][0] for group in blocks]
        if op is BF16_TN:
            operands.append(torch.cat(data, dim=1).t().contiguous())
            continue
        scale = torch.cat([group[side][1] for group in blocks], dim=1)
        if op is FP8_NT:
            operands.append((torch.cat([x.flatten() for x in data]), scale.t().contiguous().t()))
        elif op is FP8_TN:
            operands.append((torch.cat(data, dim=1).t().contiguous(), scale.t().contiguous()))
        else:
            operands.append((torch.cat(data, dim=1).contiguous(), scale.t().contiguous()))
    c = torch.randn(len(ks), m, n, generator=g) * 32
    layout = torch.tensor(list(ks), dtype=torch.int32)
    return KGrouped(
        moved(operands[0], device), moved(operands[1], device), list(ks), layout.to(device),
        c.to(device), product, magnitude,
    )  # fmt: skip


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("op", [FP8_NT, FP8_TN, FP4_NT, BF16_TN], ids=lambda op: op.__name__)
@pytest.mark.parametrize("ks", KS, ids=str)
def test_each_group_is_its_product_plus_c(ks: list[int], op: Any, device: str) -> None:
    for m, n in ((48, 72), (129, 33)):
        case = make(op, ks, m, n, device)
        name = f"{ks} m{m} n{n}"
        apart, alone, inside = case.d(), case.d(), case.c.clone()
        assert op(case.a, case.b, apart, case.ks, case.layout, case.c) is None
        case.check(apart, name, case.c)
        op(case.a, case.b, alone, case.ks, case.layout)
        case.check(alone, name, None)
        op(case.a, case.b, inside, case.ks, case.layout, c=inside)
        assert torch.equal(inside, apart), "c that is d accumulates in place"
        rounded, start = case.d(torch.bfloat16), case.c.bfloat16()
        op(case.a, case.b, rounded, case.ks, case.layout, start)
        case.check(rounded, name, start)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("op", [FP8_TN, BF16_TN], ids=lambda op: op.__name__)
def test_any_k_serves_where_rows_are_groups(op: Any, device: str) -> None:
    for ks in ([1, 127, 129], [5, 0, 300], [31, 33, 64]):
        case = make(op, ks, 40, 24, device)
        d = case.d()
        op(case.a, case.b, d, ks, case.layout, case.c)
        case.check(d, str(ks), case.c)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("op", [FP8_TN, BF16_TN], ids=lambda op: op.__name__)
@pytest.mark.parametrize("rounded_scales", [False, True])
def test_ends_along_k_skip_the_gaps(op: Any, rounded_scales: bool, device: str) -> None:
    ks, alignment, gran_k = [100, 0, 256, 31], 128, 32
    case = make(op, ks, 40, 24, device, gran_k=gran_k)
    starts, ends, at = [], [], 0
    for k in ks:
        starts.append(at)
        ends.append(at + k)
        at = round_up(at + k, alignment)
    sides = []
    for side in (case.a, case.b):
        data, scale = side if isinstance(side, tuple) else (side, None)
        wide = torch.full((at, data.size(1)), 0x7F, dtype=torch.uint8, device=device)
        wide = wide.view(data.dtype) if scale is not None else torch.full(
            (at, data.size(1)), torch.nan, dtype=data.dtype, device=device)  # fmt: skip
        for start, (first, k) in zip(
            starts, zip(itertools.accumulate([0, *ks[:-1]]), ks, strict=True), strict=True
        ):
            wide[start : start + k] = data[first : first + k]
        if scale is not None and rounded_scales:
            counts = [-(-k // gran_k) for k in ks]
            parts, row = [], 0
            for k, count in zip(ks, counts, strict=True):
                room = torch.full(
                    (round_up(k, alignment) // gran_k, scale.size(1)), torch.nan, device=device
                )
                room[:count] = scale[row : row + count]
                parts.append(room)
                row += count
            scale = torch.cat(parts)
        sides.append(wide if scale is None else (wide, scale))
    layout = torch.tensor(ends, dtype=torch.int32, device=device)
    options: dict[str, Any] = {} if op is BF16_TN else {"recipe": (1, 1, gran_k)}
    given = [None, [round_up(k, alignment) for k in ks]]
    if op is not BF16_TN and not rounded_scales:
        given = [None]
    for sizes in given:
        d = case.d()
        op(*sides, d, sizes, layout, case.c, use_psum_layout=True, **options)
        case.check(d, f"ends {sizes}", case.c)


@pytest.mark.parametrize("device", DEVICES)
def test_packed_scales_begin_a_new_word_for_each_group(device: str) -> None:
    ks, m, n = [640, 384], 16, 24
    g = generator("packed")
    values, data, packed = [], [], []
    for mn in (m, n):
        groups = [
            deep_gemm.per_token_cast_to_fp8(torch.randn(mn, k, generator=g), use_ue8m0=True)
            for k in ks
        ]
        values.append([dequantise(x, s, 1, 128) for x, s in groups])
        data.append(torch.cat([x for x, _ in groups], dim=1).t().contiguous())
        layout = torch.tensor(ks, dtype=torch.int32)
        rows = torch.cat([s.t() for _, s in groups]).contiguous()
        packed.append(
            deep_gemm.get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor(
                rows, layout, ks, 128, 128
            )
        )
    assert packed[0].size(0) == 3
    want = torch.stack([a @ b.t() for a, b in zip(*values, strict=True)])
    d = torch.full((2, m, n), SENTINEL, device=device)
    FP8_TN(
        (data[0].to(device), packed[0].to(device)), (data[1].to(device), packed[1].to(device)), d,
        ks, layout.to(device),
    )  # fmt: skip
    assert_close(d.cpu(), want, magnitude=want.abs() + 500, k=640, case="packed")


@pytest.mark.parametrize("device", DEVICES)
def test_both_generations_of_arguments(device: str) -> None:
    case = make(FP8_NT, [128, 256], 32, 48, device)
    results = []
    for call in (
        lambda d: FP8_NT(case.a, case.b, d, case.ks, case.layout, case.c),
        lambda d: FP8_NT(
            case.a, case.b, d, case.ks, case.layout, case.c, (1, 1, 128), "mnk", False, None
        ),
        lambda d: FP8_NT(
            case.a, case.b, d, case.ks, case.layout, case.c, [1, 1, 128], "", False, False, None
        ),
        lambda d: FP8_NT(
            case.a, case.b, d, case.ks, case.layout, case.c, (1, 1, 128), "mn", False,
            deep_gemm.epilogue.Identity(),
        ),
        lambda d: FP8_NT(
            list(case.a), list(case.b), d, ks=case.ks, grouped_layout=case.layout, c=case.c
        ),
        lambda d: FP8_NT(
            a=case.a, b=case.b, d=d, ks_cpu=torch.tensor(case.ks), grouped_layout=case.layout,
            c=case.c, use_padded_sf_layout=False,
        ),
    ):  # fmt: skip
        d = case.d()
        call(d)
        results.append(d)
    case.check(results[0], "generations", case.c)
    assert all(torch.equal(results[0], d) for d in results[1:])
    with pytest.raises(errors.Unsupported, match="PADDED_SCALES"):
        FP8_NT(case.a, case.b, case.d(), case.ks, case.layout, use_padded_sf_layout=True)


@pytest.mark.parametrize("device", DEVICES)
def test_sizes_are_checked_against_operands_and_layout(device: str) -> None:
    case = make(FP8_NT, [128, 256], 32, 48, device)
    args = (case.a, case.b, case.d())
    wrong = {
        "K_SIZES_GIVEN": None,
        "K_SIZES_LENGTH": [384],
        "K_SIZES_MULTIPLE": [100, 284],
        "K_SIZES_SUM": [128, 128],
    }
    for rule, ks in wrong.items():
        with pytest.raises(errors.InvalidArgument, match=rule):
            FP8_NT(*args, ks, case.layout)
    with pytest.raises(errors.InvalidArgument, match="K_SIZES_GIVEN"):
        FP8_NT(*args, [], case.layout)
    FP8_NT(*args, [256, 128], case.layout)  # the layout decides
    case.check(args[2], "layout", None)
    with deep_gemm.checking(), pytest.raises(errors.InvalidArgument, match="K_SIZES_LAYOUT"):
        FP8_NT(*args, [256, 128], case.layout)
    for layout in ([1 << 30, 5], [-5, 384]):
        bad = torch.tensor(layout, dtype=torch.int32, device=device)
        FP8_NT(*args, case.ks, bad)  # harmless: cut to what is there
    with pytest.raises(TypeError, match="grouped_layout"):
        FP8_NT(*args, case.ks)
    with pytest.raises(TypeError, match="K_SIZES_LIST"):
        FP8_NT(*args, 384, case.layout)
    with pytest.raises(errors.Unsupported, match="K_GROUPED_RECIPE"):
        FP8_NT(*args, case.ks, case.layout, recipe=(1, 128, 128))


def test_wrong_tensors_are_refused_by_rule() -> None:
    case = make(FP8_NT, [128, 256], 32, 48, "cpu")
    base = {"a": case.a, "b": case.b, "d": case.d(), "ks_cpu": case.ks,
            "grouped_layout": case.layout, "c": case.c}  # fmt: skip
    wrong: dict[str, dict[str, Any]] = {
        "RANK_GROUPS": {"d": case.d()[0]},
        "GROUPS_CONTIGUOUS": {"d": torch.zeros(2, 48, 32).transpose(1, 2)},
        "SAME_GROUPS": {"c": case.c[:1]},
        "DTYPE_C": {"c": case.c.bfloat16()},
        "SHAPE_C": {"c": case.c[:, :, :47].contiguous()},
        "LAYOUT_INT32": {"grouped_layout": case.layout.long()},
        "LAYOUT_LENGTH": {"grouped_layout": case.layout[:1]},
        "K_GROUPED_FLAT": {"a": (case.a[0][:-1], case.a[1])},
        "K_SCALES": {"a": (case.a[0], case.a[1][:, :2])},
        "SCALE_ROWS": {"a": (case.a[0], case.a[1][:31])},
        "DTYPE_SCALE": {"a": (case.a[0], case.a[1].half())},
    }
    for rule, change in wrong.items():
        with pytest.raises(errors.InvalidArgument, match=rule) as caught:
            FP8_NT(**(base | change))
        assert "\n  Fix: " in str(caught.value)


@pytest.mark.parametrize("device", DEVICES)
def test_empty_matrices_and_no_k(device: str) -> None:
    layout = torch.zeros(2, dtype=torch.int32, device=device)
    none = torch.zeros(0, 8, dtype=torch.bfloat16, device=device)
    d = torch.full((2, 8, 8), SENTINEL, device=device)
    c = torch.ones_like(d)
    BF16_TN(none, none, d, [0, 0], layout, c)
    assert torch.equal(d, c)
    BF16_TN(none, none, d, [0, 0], layout)
    assert not bool(d.any())
    wide = torch.zeros(128, 8, dtype=torch.bfloat16, device=device)
    BF16_TN(wide[:, :0], wide, d[:, :0], [128, 0], layout, c[:, :0])


@settings(max_examples=30, deadline=None)
@given(
    ks=st.lists(st.integers(0, 200), min_size=1, max_size=5),
    m=st.integers(1, 50),
    n=st.integers(1, 50),
    op=st.sampled_from([FP8_TN, BF16_TN]),
)
def test_any_sizes(ks: list[int], m: int, n: int, op: Any) -> None:
    case = make(op, ks, m, n, "cpu")
    d = case.d()
    op(case.a, case.b, d, ks, case.layout, case.c)
    case.check(d, f"{ks} m{m} n{n}", case.c)
