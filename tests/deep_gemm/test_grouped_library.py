"""Grouped GEMMs as operators: alias marks, opcheck, fakes, compiled graphs, support queries."""

from typing import Any

import pytest
import torch
from torch._subclasses import FakeTensorMode

import deep_gemm
from deep_gemm import _fakes_grouped, _ops
from tests.support.grouped import Masked, MGrouped

NAMES = sorted(_fakes_grouped.FAKES)


def operator(name: str) -> torch._ops.OpOverload:
    return getattr(getattr(torch.ops, _ops.NAMESPACE), name).default


def arguments(name: str) -> tuple[tuple[Any, ...], torch.Tensor]:
    """Arguments of an operator by its schema, and d among them."""
    if name.startswith("k_grouped"):
        layout = torch.tensor([128, 128], dtype=torch.int32)
        ks = torch.tensor([128, 128])
        d = torch.zeros(2, 32, 32)
        x = torch.randn(256, 32, generator=torch.Generator().manual_seed(1))
        if "bf16" in name:
            return (x.bfloat16(), x.bfloat16(), d, layout, ks), d
        data, scale = deep_gemm.per_token_cast_to_fp8(x.t(), use_ue8m0=False)
        if "fp4" in name:
            data, scale = deep_gemm.per_token_cast_to_fp4(
                x.t().contiguous(), use_ue8m0=True, gran_k=32
            )
            scale = scale.t().contiguous()
        elif "_tn_" in name:
            data, scale = data.t().contiguous(), scale.t().contiguous()
        else:
            data = torch.cat([data[:, :128].flatten(), data[:, 128:].flatten()])
        return (data, scale, data, scale, d, layout, ks), d
    dtype = "bf16" if "bf16" in name else "fp8"
    if "masked" in name:
        masked = Masked.make([3, 0], 8, 16, 128, dtype)
        d = torch.zeros_like(masked.d())
        parts = (masked.a, masked.b) if dtype == "bf16" else (*masked.a, *masked.b)
        return (*parts, d, masked.counts, 3), d
    case = MGrouped.make([128, 128], 16, 128, dtype)
    d = torch.zeros_like(case.d())
    b = case.b
    if "_nn_" in name:
        turned = [x.transpose(1, 2).contiguous() for x in (b if dtype == "fp8" else (b,))]
        b = tuple(turned) if dtype == "fp8" else turned[0]
    parts = (case.a, b) if dtype == "bf16" else (*case.a, *b)
    return (*parts, d, case.labels), d


@pytest.mark.parametrize("name", NAMES)
def test_d_alone_is_written(name: str) -> None:
    args, d = arguments(name)
    schema = operator(name)._schema
    written = [a.name for a in schema.arguments if a.alias_info and a.alias_info.is_write]
    assert written == ["d"] and schema.returns == []
    others = [x for x in args if isinstance(x, torch.Tensor) and x is not d]
    before, versions = [x.clone() for x in others], [x._version for x in others]
    assert operator(name)(*args) is None
    for x, saved in zip(others, before, strict=True):
        assert torch.equal(x.contiguous().view(torch.uint8), saved.contiguous().view(torch.uint8))
    assert [x._version for x in others] == versions
    assert bool(d.any())


@pytest.mark.parametrize("name", NAMES)
def test_opcheck(name: str) -> None:
    # Why: test_schema compares copies of the arguments, which torch cannot do for 8-bit floats.
    checks = ["test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"]
    if "bf16" in name:
        checks.append("test_schema")
    torch.library.opcheck(operator(name), arguments(name)[0], test_utils=checks)


@pytest.mark.parametrize("name", NAMES)
def test_fake_tensors_have_no_data_to_read(name: str) -> None:
    args, _ = arguments(name)
    with FakeTensorMode() as mode:
        fakes = [mode.from_tensor(x) if isinstance(x, torch.Tensor) else x for x in args]
        assert operator(name)(*fakes) is None


def test_full_graph_over_ten_sizes_recompiles_at_most_once() -> None:
    compiles = []

    def backend(module: torch.fx.GraphModule, inputs: list) -> object:
        compiles.append(module)
        return module.forward

    case = MGrouped.make([128], 96, 256)
    b = tuple(torch.cat([x, x, x]) for x in case.b)
    w = torch.randn(3, 48, 96, generator=torch.Generator().manual_seed(7)).bfloat16()

    def experts(x: torch.Tensor, layout: torch.Tensor) -> torch.Tensor:
        a = deep_gemm.per_token_cast_to_fp8(x, use_ue8m0=False)
        hidden = torch.empty((x.size(0), 96), dtype=torch.bfloat16)
        deep_gemm.m_grouped_fp8_gemm_nt_contiguous(a, b, hidden, layout)
        out = torch.empty((x.size(0), 48), dtype=torch.bfloat16)
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(hidden, w, out, layout)
        return out

    torch._dynamo.reset()
    compiled = torch.compile(experts, fullgraph=True, dynamic=True, backend=backend)
    for m in (128, 2, 3, 17, 64, 65, 256, 200, 31, 512):
        x = torch.randn(m, 256, generator=torch.Generator().manual_seed(m)).bfloat16()
        layout = torch.arange(m, dtype=torch.int32) // 128 % 3
        assert torch.equal(compiled(x, layout), experts(x, layout))
    assert len(compiles) <= 2, f"{len(compiles)} graphs for ten sizes"


def test_full_graph_of_gradients_with_sizes_as_a_list() -> None:
    layout = torch.tensor([128, 256], dtype=torch.int32)

    def gradient(x: torch.Tensor, y: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
        deep_gemm.k_grouped_bf16_gemm_tn_contiguous(x, y, d, [128, 256], layout, d)
        return d

    g = torch.Generator().manual_seed(3)
    x, y = (torch.randn(384, 32, generator=g).bfloat16() for _ in range(2))
    torch._dynamo.reset()
    compiled = torch.compile(gradient, fullgraph=True, dynamic=True, backend="aot_eager")
    want = gradient(x, y, torch.ones(2, 32, 32))
    assert torch.equal(compiled(x, y, torch.ones(2, 32, 32)), want)


@pytest.mark.parametrize("arch", [None, "90a", "80", "120"])
@pytest.mark.parametrize("name", [n for n in NAMES if not n.startswith("k_")])
def test_supports_answers_like_the_call(name: str, arch: str | None) -> None:
    dtype = "bf16" if "bf16" in name else "fp8"
    if "masked" in name:
        case: Any = Masked.make([3, 0], 8, 16, 128, dtype)
        args = [case.a, case.b, case.d(), case.counts, 3]
    else:
        case = MGrouped.make([128, 128], 16, 128, dtype)
        b = case.b
        if "_nn_" in name:
            turn = [x.transpose(1, 2) for x in (b if dtype == "fp8" else (b,))]
            b = tuple(turn) if dtype == "fp8" else turn[0]
        args = [case.a, b, case.d(), case.labels]
    assert deep_gemm.supports(name, *args, arch=arch) == (True, "")
    args[2] = args[2].half()
    ok, why = deep_gemm.supports(name, *args, arch=arch)
    assert not ok and "DTYPE_OUT" in why


@pytest.mark.parametrize("arch", [None, "90a", "80"])
def test_supports_knows_groups_along_k(arch: str | None) -> None:
    x = torch.empty(384, 32, dtype=torch.bfloat16, device="meta")
    d = torch.empty(2, 32, 32, device="meta")
    layout = torch.empty(2, dtype=torch.int32, device="meta")
    name = "k_grouped_bf16_gemm_tn_contiguous"
    assert deep_gemm.supports(name, x, x, d, [128, 256], layout, d, arch=arch)[0]
    ok, why = deep_gemm.supports(name, x, x, d, [128, 128], layout, arch=arch)
    assert not ok and "K_SIZES_SUM" in why
    answer = deep_gemm.plan(name, x, x, d, [128, 256], layout, arch=arch or "90a")
    assert "bf16_gemm" in answer["kernel"] and "\n" not in answer["plan"]


def test_precompile_names_what_calls_use() -> None:
    for name in NAMES:
        args, _ = arguments(name)
        before = deep_gemm.precompile(name, 16, 128, dtypes=[torch.bfloat16, torch.float32])
        assert before["kernels"] and not before["failed"]
        compiles = deep_gemm.counters()["compiles"]
        operator(name)(*args)
        assert deep_gemm.counters()["compiles"] == compiles, name


@pytest.mark.parametrize("arch", ["90a", "80"])
def test_precompile_lists_kernels_of_another_machine(arch: str) -> None:
    for name in NAMES:
        found = deep_gemm.precompile(name, 1024, 512, arch=arch, dry_run=True)
        kernels = {kernel["name"] for kernel in found["kernels"]}
        assert any("grouped" in kernel for kernel in kernels), name
        assert all(kernel.startswith(("sm90_", "portable_")) for kernel in kernels), name
