"""Calls of tests/support/operators.py on one generation of GPUs: planned, compiled, run there.

assert_compiles("bf16_gemm_nt", "120", nvrtc)      # no device needed
@on_generation(12)                                 # skips elsewhere
def test_on_the_device(...): assert_runs("bf16_gemm_nt")
"""

from __future__ import annotations

from functools import cache

import pytest
import torch

import deep_gemm
from tests.support.nvrtc import Nvrtc
from tests.support.operators import (
    SAMPLES,
    SLOTS,
    Call,
    arguments_of,
    assert_gives,
    recording,
    results,
)


@cache
def last_call_of(name: str) -> Call:
    """The operator that a sample calls last, with its arguments on the CPU."""
    with recording() as calls:
        SAMPLES[name].run(**SAMPLES[name].tensors(1))
    return calls[-1]


def planned(name: str, arch: str) -> dict[str, str]:
    """The plan of a sample's call for that arch."""
    op, args, kwargs = last_call_of(name)
    try:
        deep_gemm.set_num_sms(SLOTS)  # paged schedules are made for that many
        return deep_gemm.plan(op, *args, arch=arch, **kwargs)
    finally:
        deep_gemm.set_num_sms(0)


def is_supported(name: str, arch: str) -> tuple[bool, str]:
    """What `supports` says of a sample's call for that arch."""
    op, args, kwargs = last_call_of(name)
    try:
        deep_gemm.set_num_sms(SLOTS)
        return deep_gemm.supports(op, *args, arch=arch, **kwargs)
    finally:
        deep_gemm.set_num_sms(0)


def assert_compiles(name: str, arch: str, nvrtc: Nvrtc) -> None:
    """The kernel of a sample's call is portable there and spills nothing."""
    plan = planned(name, arch)
    assert "portable" in plan["plan"].split(), plan["plan"]
    report = nvrtc.compile(plan["source"], arch)
    assert report.spill_bytes == 0, f"{arch} {plan['plan']}: {report.log}"


def on_generation(major: int) -> pytest.MarkDecorator:
    """Skips unless the GPU is of that compute capability."""
    is_there = torch.cuda.is_available() and torch.cuda.get_device_capability()[0] == major
    return pytest.mark.skipif(not is_there, reason=f"no GPU of compute capability {major}.x")


def assert_runs(name: str) -> None:
    """A sample's call gives what it has to, on the GPU."""
    sample = SAMPLES[name]
    got = sample.run(**arguments_of(sample, 1, "cuda"))
    assert all(x.is_cuda for x in results(got))
    assert_gives(got, sample.want(**sample.tensors(1)), sample)
