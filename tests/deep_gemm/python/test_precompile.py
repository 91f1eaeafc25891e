"""precompile answers for the sizes that it is given, and what it names is what calls then use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import deep_gemm
from deep_gemm import _ops, errors

FORBIDDEN = """
import os, torch, deep_gemm
answer = deep_gemm.precompile("fp8_gemm_nt", [96, 200], [256, 130])
assert answer["compiled"] == len(answer["kernels"]) == 1, answer
again = deep_gemm.precompile("fp8_gemm_nt", 96, 256)
assert [row["cached"] for row in again["kernels"]] == [True] and again["compiled"] == 0
os.environ["DG_JIT_MODE"] = "forbid"
before = deep_gemm.counters()["compiles"]
for m in (1, 7, 128, 300):
    for n, k in ((96, 256), (200, 130), (200, 256)):
        for out in (torch.bfloat16, torch.float32):
            a = deep_gemm.per_token_cast_to_fp8(torch.randn(m, k).bfloat16(), use_ue8m0=False)
            b = deep_gemm.per_block_cast_to_fp8(torch.randn(n, k).bfloat16(), use_ue8m0=False)
            deep_gemm.fp8_gemm_nt(a, b, torch.empty(m, n, dtype=out))
assert deep_gemm.counters()["compiles"] == before
"""


def test_what_was_precompiled_serves_every_m_under_forbid(tmp_path: Path) -> None:
    environment = {
        **os.environ, "DG_JIT_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", FORBIDDEN], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-4000:]


def test_every_row_has_name_request_cached_and_time() -> None:
    first = deep_gemm.precompile("bf16_gemm_nt", 48, 64)
    assert set(first["kernels"][0]) == {"name", "request", "cached", "ms"}
    again = deep_gemm.precompile("bf16_gemm_nt", 48, 64, dry_run=True)
    assert again["kernels"][0]["cached"] is True and again["compiled"] == 0
    assert again["kernels"][0]["request"] == first["kernels"][0]["request"]
    assert len(first["kernels"][0]["request"]) == 64


def test_many_sizes_that_share_a_kernel_name_it_once() -> None:
    sizes = [64, 128, 2112, 24576]
    answer = deep_gemm.precompile("bf16_gemm_nt", sizes, sizes, dry_run=True)
    requests = [row["request"] for row in answer["kernels"]]
    assert len(requests) == len(set(requests))


def test_granularities_of_the_scales_are_kernels_of_their_own() -> None:
    def requests(**flags: object) -> set[str]:
        answer = deep_gemm.precompile("fp8_gemm_nt", 64, 128, dry_run=True, **flags)
        return {row["request"] for row in answer["kernels"]}

    assert requests(gran_k=32) != requests(gran_k=128) == requests()
    assert requests(gran_k=[32, 128]) == requests(gran_k=32) | requests()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"n": 0, "k": 64}, "above 0"),
        ({"n": -3, "k": 64}, "above 0"),
        ({"n": [], "k": 64}, "one size at least"),
        ({"n": 64, "k": [64, 0]}, "above 0"),
        ({"n": 64, "k": 64, "dtypes": torch.float16}, "DTYPE_OUT"),
        ({"n": 64, "k": 64, "gran_k": 17}, "RECIPE_GRAN_K"),
    ],
    ids=["zero", "negative", "none", "zero-among", "dtype", "granularity"],
)
def test_sizes_and_types_that_no_call_could_have_are_refused(
    flags: dict[str, object], words: str
) -> None:
    with pytest.raises((errors.InvalidArgument, errors.Unsupported), match=words):
        deep_gemm.precompile("fp8_gemm_nt", dry_run=True, **flags)


def test_an_unknown_key_or_operator_is_refused_by_name() -> None:
    with pytest.raises(errors.InvalidArgument, match=r"KNOWN_KEY.*gran_k"):
        _ops.query("precompile", op="bf16_gemm_nt", n="1", k="1", colour="blue")
    with pytest.raises(errors.InvalidArgument, match="KNOWN_OP"):
        deep_gemm.precompile("softmax", 64, 64)


def test_another_cpu_is_another_request() -> None:
    here = deep_gemm.precompile("bf16_gemm_nt", 64, 64, arch="x86-64-v2", dry_run=True)
    there = deep_gemm.precompile("bf16_gemm_nt", 64, 64, arch="x86-64-v3", dry_run=True)
    assert here["kernels"][0]["request"] != there["kernels"][0]["request"]
