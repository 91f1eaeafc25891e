"""Fleets: known models' shapes, compiled by one process or shared among ranks of a group."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import deep_gemm
from deep_gemm import fleet

SHAPES = """
from deep_gemm.fleet import Linear
SHAPES = [
    Linear("a", "bf16_gemm_nt", 64, 32), Linear("b", "bf16_gemm_nn", 64, 32),
    Linear("c", "bf16_gemm_tn", 64, 32), Linear("d", "bf16_gemm_tt", 64, 32),
    Linear("e", "fp8_gemm_nt", 64, 128), Linear("f", "no_such_gemm_nt", 64, 128),
]
"""
RANK = (
    SHAPES
    + """
import datetime, json, os, sys
import torch, torch.distributed as dist
import deep_gemm
from deep_gemm import fleet
rank, world, store = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world,
                        timeout=datetime.timedelta(seconds=240))
try:
    report = fleet.precompile_linears(SHAPES, group=dist.group.WORLD)
    answer = vars(report)
except deep_gemm.errors.Toolchain as error:
    answer = {"error": str(error)}
before = deep_gemm.counters()["compiles"]
if "error" not in answer:
    os.environ["DG_JIT_MODE"] = "forbid"
    d = torch.empty(5, 64, dtype=torch.bfloat16)
    a, b = torch.randn(5, 32).bfloat16(), torch.randn(64, 32).bfloat16()
    deep_gemm.bf16_gemm_nt(a, b, d)
    answer["right"] = bool(torch.allclose(d.float(), a.float() @ b.float().t(), atol=0.1))
    answer["compiles_after"] = deep_gemm.counters()["compiles"] - before
dist.barrier()
dist.destroy_process_group()
print(json.dumps(answer))
"""
)


def run_ranks(tmp_path: Path, caches: list[str], **environment: str) -> list[dict]:
    import json

    ranks = []
    for rank, cache in enumerate(caches):
        variables = {
            **os.environ, "DG_JIT_CACHE_DIR": str(tmp_path / cache), "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **environment,
        }  # fmt: skip
        command = [sys.executable, "-c", RANK, str(rank), str(len(caches)), str(tmp_path / "store")]
        ranks.append(
            subprocess.Popen(
                command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        )
    answers = []
    for rank in ranks:
        out, err = rank.communicate(timeout=280)
        assert rank.returncode == 0, err[-4000:]
        answers.append(json.loads(out.splitlines()[-1]))
    return answers


def test_four_ranks_compile_each_kernel_once_and_the_rest_arrives(tmp_path: Path) -> None:
    answers = run_ranks(tmp_path, ["node0", "node1", "node2", "node3"])
    assert [answer["kernels"] for answer in answers] == [5] * 4
    assert sum(answer["compiled"] for answer in answers) == 5
    assert max(answer["compiled"] for answer in answers) <= 2
    assert all(answer["compiled"] + answer["received"] == 5 for answer in answers)
    assert all(answer["right"] and answer["compiles_after"] == 0 for answer in answers)
    assert all("no_such_gemm_nt" in answer["skipped"] for answer in answers)


def test_four_ranks_of_one_cache_send_nothing(tmp_path: Path) -> None:
    answers = run_ranks(tmp_path, ["shared"] * 4)
    assert sum(answer["compiled"] for answer in answers) == 5
    assert [answer["received"] for answer in answers] == [0] * 4
    assert len(list((tmp_path / "shared/cache").iterdir())) == 5
    assert not (tmp_path / "shared/packs").exists()
    assert all(answer["right"] for answer in answers)


def test_a_kernel_that_fails_anywhere_is_told_to_every_rank(tmp_path: Path) -> None:
    compiler = tmp_path / "broken"
    compiler.write_text("#!/bin/sh\necho broken on purpose >&2\nexit 1\n")
    compiler.chmod(0o755)
    answers = run_ranks(tmp_path, ["a", "b"], DG_JIT_HOST_COMPILER=str(compiler))
    assert all("broken on purpose" in answer["error"] for answer in answers)
    assert all("rank 0" in answer["error"] for answer in answers)


def test_the_shapes_of_a_model_are_split_as_tensor_parallel_ranks_hold_them() -> None:
    whole = {one.layer: (one.n, one.k) for one in fleet.linears("deepseek-v3")}
    split = {one.layer: (one.n, one.k) for one in fleet.linears("deepseek-v3", 8)}
    assert whole["attention.q_b"] == (24576, 1536) and split["attention.q_b"] == (3072, 1536)
    assert split["attention.o"] == (7168, 2048)
    assert split["attention.kv_a"] == whole["attention.kv_a"] == (576, 7168)
    assert split["experts.gate_up"] == whole["experts.gate_up"]
    # 5120 rows do not divide by 7: kept whole rather than wrong.
    assert fleet.Linear("x", "op", 5120, 64, "n").of_rank(7).n == 5120


@pytest.mark.parametrize("model", sorted(fleet.MODELS))
def test_everything_of_a_model_is_a_question_that_precompile_answers(model: str) -> None:
    whole = fleet.calls(model, 8)
    assert set(fleet.linears(model, 8)) <= set(whole)
    for one in whole:
        answer = deep_gemm._ops.query(
            "precompile", **one.question(), arch="90a", device="cuda", dry_run=1
        )
        assert answer["kernels"], one
        assert one.size
    logits = {one.op for one in whole if isinstance(one, fleet.Logits)}
    assert bool(logits) is (model in fleet.LOGITS)


def test_newer_models_are_older_ones_with_more_layers() -> None:
    assert set(fleet.linears("deepseek-v3")) < set(fleet.linears("deepseek-v3.2"))
    assert {"qwen3-235b-a22b", "qwen3-30b-a3b"} <= set(fleet.MODELS)


def test_an_unknown_model_is_refused_with_the_known_ones() -> None:
    with pytest.raises(deep_gemm.errors.InvalidArgument, match=r"KNOWN_MODEL.*deepseek-v3"):
        fleet.linears("gpt-5")
