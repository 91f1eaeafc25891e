"""A call of every operator that takes tensors, in the arguments of its schema.

    call = operator_call("m_grouped_fp8_gemm_nt_masked", rows=5, device="cpu")
    torch.ops.deep_gemm.m_grouped_fp8_gemm_nt_masked(*call.arguments)
    call.outputs()          # the tensors that it writes

Small, seeded and legal; n and k are 128, so that one set of operands fits every storage order, and
every element of a result is defined. `rows` makes the problem another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

import deep_gemm
from deep_gemm import _ops

SIZE = 128
GROUPS = 2
FP8 = torch.float8_e4m3fn


@dataclass
class OperatorCall:
    """Arguments in the order of the schema, and which of them are written."""

    name: str
    arguments: list[Any]
    written: tuple[int, ...]

    def outputs(self) -> list[torch.Tensor]:
        """The tensors that a call writes in place."""
        return [self.arguments[i] for i in self.written]

    def spoil(self) -> None:
        """NaN in all outputs."""
        for d in self.outputs():
            d.fill_(float("nan"))


class _Maker:
    def __init__(self, device: str) -> None:
        self.device = device
        self.generator = torch.Generator().manual_seed(7)

    def bf16(self, *shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=self.generator).bfloat16().to(self.device)

    def fp8(self, *shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=self.generator).to(FP8).to(self.device)

    def fp4(self, *shape: int) -> torch.Tensor:
        values = torch.randint(-128, 128, shape, generator=self.generator, dtype=torch.int8)
        return values.to(self.device)

    def scale(self, *shape: int) -> torch.Tensor:
        return (torch.rand(*shape, generator=self.generator) + 0.5).to(self.device)

    def int32(self, *values: int) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.int32, device=self.device)

    def new(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.full(shape, float("nan"), dtype=dtype, device=self.device)


def _dense(make: _Maker, name: str, rows: int) -> list[Any]:
    a_is_k_m = name[-2] == "t"
    a_shape = (SIZE, rows) if a_is_k_m else (rows, SIZE)
    d, c = make.new(rows, SIZE), make.scale(rows, SIZE)
    if name.startswith("bf16"):
        return [make.bf16(*a_shape), make.bf16(SIZE, SIZE), d, c, 2.0]
    if name.startswith("fp4"):
        operands = [make.fp4(rows, SIZE // 2), make.scale(rows, 1)]
        operands += [make.fp4(SIZE, SIZE // 2), make.scale(SIZE, 1)]
        return [*operands, d, c, 1, 1, 128, 128, False, 2.0]
    a_scale = make.scale(1, rows) if a_is_k_m else make.scale(rows, 1)
    operands = [make.fp8(*a_shape), a_scale, make.fp8(SIZE, SIZE), make.scale(1, 1)]
    return [*operands, d, c, 1, 128, 128, 128, False, 2.0]


def _m_grouped(make: _Maker, name: str, rows: int) -> list[Any]:
    is_masked = name.endswith("masked")
    lead = (GROUPS, rows) if is_masked else (GROUPS * SIZE + rows,)
    d = make.new(*lead, SIZE, dtype=torch.bfloat16)
    if is_masked:
        layout, options = [make.int32(*[rows] * GROUPS), rows], []
    else:
        labels = [min(row // SIZE, GROUPS - 1) for row in range(lead[0])]
        layout, options = [make.int32(*labels)], [False, True]
    if "bf16" in name:
        return [make.bf16(*lead, SIZE), make.bf16(GROUPS, SIZE, SIZE), d, *layout, *options, None]
    a, b = make.fp8(*lead, SIZE), make.fp8(GROUPS, SIZE, SIZE)
    scales = make.scale(*lead, 1), make.scale(GROUPS, 1, 1)
    return [a, scales[0], b, scales[1], d, *layout, 0, 0, 0, 0, False, *options, None]


def _k_grouped(make: _Maker, name: str, rows: int) -> list[Any]:
    sizes = [SIZE] * GROUPS
    k, ks = sum(sizes), torch.tensor(sizes)
    tail = [make.new(GROUPS, rows, SIZE), make.int32(*sizes), ks, make.scale(GROUPS, rows, SIZE)]
    if "bf16" in name:
        return [make.bf16(k, rows), make.bf16(k, SIZE), *tail, False, 2.0]
    if "fp4" in name:
        columns = k // 32
        operands = [make.fp4(rows, k // 2), make.scale(columns, rows)]
        operands += [make.fp4(SIZE, k // 2), make.scale(columns, SIZE)]
        return [*operands, *tail, 32, False, None]
    if "_tn_" in name:
        operands = [make.fp8(k, rows), make.scale(k // 128, rows)]
        operands += [make.fp8(k, SIZE), make.scale(k // 128, SIZE)]
    else:
        operands = [make.fp8(rows * k), make.scale(rows, k // 128)]
        operands += [make.fp8(SIZE * k), make.scale(SIZE, k // 128)]
    return [*operands, *tail, 128, False, None]


def _logits(make: _Maker, name: str, rows: int) -> list[Any]:
    heads, keys, page = 2, 8, 4
    # A GPU's kernels are launched for as many as the library would use, a CPU's for any number.
    slots = deep_gemm.get_num_sms() if make.device != "cpu" else 3
    if name == "get_mqa_logits_metadata":
        return [make.int32(*[0] * rows), make.int32(*[keys] * rows), keys, heads]
    if name == "get_paged_mqa_logits_metadata":
        return [make.int32(*[keys] * rows).view(rows, 1), page, slots, None]
    is_paged = "paged" in name
    scale = [None] if name.startswith("fp8_fp4") else []
    wish = [False] if name.startswith("fp8_fp4") else []
    weights = make.scale(rows, heads)
    if not is_paged:
        operands = [make.fp8(rows, heads, 32), *scale, make.fp8(keys, 32), make.scale(keys)]
        ranges = [make.int32(*[0] * rows), make.int32(*[keys] * rows)]
        return [*operands, weights, *ranges, True, 0, *wish]
    blocks = 2 * rows
    cache = torch.zeros(blocks, page, 1, 36, dtype=torch.uint8, device=make.device)
    lengths = make.int32(*[keys] * rows).view(rows, 1)
    table = make.int32(*range(blocks)).view(rows, 2)
    schedule = _ops.op("get_paged_mqa_logits_metadata")(lengths, page, slots)
    operands = [make.fp8(rows, 1, heads, 32), *scale, cache, weights, lengths, table, schedule]
    return [*operands, keys, False, *wish, None]


def _sparse_logits(make: _Maker, name: str, rows: int) -> list[Any]:
    heads, block, chosen, page = 4, 8, 4, 16
    keys = block * chosen
    blocks = make.int32(*[*range(chosen)] * rows).view(rows, chosen)
    q, weights = make.fp8(rows, heads, 32), make.scale(rows, heads)
    ends = make.int32(*[keys] * rows)
    if "paged" not in name:
        starts = make.int32(*[0] * rows)
        metadata = _ops.op("get_sparse_mqa_logits_metadata")(
            starts, ends, keys, blocks, block, False
        )
        kv, scale = make.fp8(keys, 32), make.scale(keys)
        return [q, None, kv, scale, weights, metadata, chosen, block]
    cache = torch.zeros(2 * rows, page, 1, 36, dtype=torch.uint8, device=make.device)
    table = make.int32(*range(2 * rows)).view(rows, 2)
    metadata = _ops.op("get_paged_sparse_mqa_logits_metadata")(
        ends, table, None, page, blocks, block
    )
    return [q, None, cache, weights, metadata, chosen, block]


def _einsum(make: _Maker, name: str, rows: int) -> list[Any]:
    d = make.new(rows, GROUPS, SIZE)
    if name == "einsum":
        a, b = make.bf16(rows, GROUPS, SIZE), make.bf16(GROUPS, SIZE, SIZE)
        return ["bhr,hdr->bhd", a, b, d, None]
    a, b = make.fp8(rows, GROUPS, SIZE), make.fp8(GROUPS, SIZE, SIZE)
    scales = make.scale(rows, GROUPS, 1), make.scale(GROUPS, 1, 1)
    return ["bhr,hdr->bhd", a, scales[0], b, scales[1], d, None, 1, 128, 128]


def _hc(make: _Maker, name: str, rows: int) -> list[Any]:
    b = make.scale(24, SIZE)
    return [make.bf16(rows, SIZE), b, make.new(2, rows, 24), make.new(2, rows), 2]


def operator_call(name: str, rows: int = 5, device: str = "cpu") -> OperatorCall:
    """A legal call of the operator `name`."""
    make = _Maker(device)
    arguments = (
        _hc(make, name, rows)
        if name.startswith("tf32_hc")
        else _einsum(make, name, rows)
        if "einsum" in name
        else _sparse_logits(make, name, rows)
        if "sparse" in name
        else _logits(make, name, rows)
        if "logits" in name
        else _k_grouped(make, name, rows)
        if name.startswith("k_grouped")
        else _m_grouped(make, name, rows)
        if "m_grouped" in name
        else _dense(make, name, rows)
    )
    schema = _ops.op(name)._schema
    written = [i for i, x in enumerate(schema.arguments) if x.alias_info and x.alias_info.is_write]
    return OperatorCall(name, arguments, tuple(written))
