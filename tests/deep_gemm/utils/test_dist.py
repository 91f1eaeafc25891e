"""Helpers of process groups, run by three real processes over Gloo."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import deep_gemm
from deep_gemm.utils import dist

RANK = """
import sys, torch
torch.cuda.is_available = lambda: False  # three ranks need no three GPUs
from deep_gemm.utils.dist import dist_print, init_dist, uneven_all_gather

local, ranks = int(sys.argv[1]), int(sys.argv[2])
rank, world, group = init_dist(local, ranks)
assert (rank, world) == (local, ranks)
rows = torch.arange(12).view(3, 4)[:rank] + 100 * rank          # 0, 1 and 2 rows
want = torch.cat([torch.arange(12).view(3, 4)[:r] + 100 * r for r in range(ranks)])
for dtype in (torch.int64, torch.float32, torch.bfloat16, torch.float8_e4m3fn):
    x = rows.float().to(dtype) if dtype != torch.int64 else rows
    y = want.float().to(dtype) if dtype != torch.int64 else want
    got = uneven_all_gather(x, group=group)
    assert got.dtype == dtype and torch.equal(got.float(), y.float()), dtype
    turned = uneven_all_gather(x.t(), dim=1, group=group)
    assert turned.is_contiguous() and torch.equal(turned.float(), y.t().float()), dtype
assert torch.equal(uneven_all_gather(rows, -2), want)
dist_print(f"rank {rank}")
dist_print("once", once_in_node=True)
torch.distributed.destroy_process_group()
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_three_ranks_gather_what_each_has() -> None:
    root = str(Path(deep_gemm.__file__).resolve().parents[1])
    path = os.pathsep.join([root, *(entry for entry in sys.path if entry)])
    environment = {**os.environ, "MASTER_PORT": str(free_port()), "PYTHONPATH": path}
    for name in ("MASTER_ADDR", "WORLD_SIZE", "RANK"):
        environment.pop(name, None)
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", RANK, str(rank), "3"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(3)
    ]
    lines = []
    for rank in ranks:
        out, err = rank.communicate(timeout=280)
        assert rank.returncode == 0, err[-3000:]
        lines += out.split("\n")
    assert sorted(filter(None, lines)) == ["once", "rank 0", "rank 1", "rank 2"]


def test_a_rank_outside_the_node_is_refused() -> None:
    with pytest.raises(AssertionError, match="local_rank=2 of 2"):
        dist.init_dist(2, 2)
    assert deep_gemm.init_dist is dist.init_dist
    assert deep_gemm.uneven_all_gather is dist.uneven_all_gather
    assert torch.distributed.is_initialized() is False
