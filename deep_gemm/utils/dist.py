"""Process-group helpers for multi-rank tests and tools.

    rank, world_size, group = init_dist(local_rank, num_local_ranks)
    everything = uneven_all_gather(shard, dim=0, group=group)

The default variables describe one node: MASTER_ADDR (127.0.0.1), MASTER_PORT (8361), WORLD_SIZE
(number of nodes, 1), RANK (this node, 0).
"""

from __future__ import annotations

import os

import torch
import torch.distributed as dist

__all__ = ["dist_print", "init_dist", "uneven_all_gather"]

_local_rank: int | None = None


def init_dist(local_rank: int, num_local_ranks: int) -> tuple[int, int, dist.ProcessGroup]:
    """Join the default process group and return (rank, world size, group of all ranks).

    Uses NCCL and makes GPU `local_rank` current where there is a GPU, Gloo otherwise.
    """
    global _local_rank
    host = os.environ.get("MASTER_ADDR", "127.0.0.1")
    port = int(os.environ.get("MASTER_PORT", "8361"))
    num_nodes = int(os.environ.get("WORLD_SIZE", "1"))
    node = int(os.environ.get("RANK", "0"))
    assert 0 <= local_rank < num_local_ranks, f"local_rank={local_rank} of {num_local_ranks}"
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        torch.cuda.set_device(local_rank)
    world_size = num_nodes * num_local_ranks
    dist.init_process_group(
        backend="nccl" if on_gpu else "gloo",
        init_method=f"tcp://{host}:{port}",
        world_size=world_size,
        rank=node * num_local_ranks + local_rank,
    )
    _local_rank = local_rank
    group = dist.new_group(list(range(world_size)))
    return dist.get_rank(), dist.get_world_size(), group


def uneven_all_gather(
    tensor: torch.Tensor, dim: int = 0, group: dist.ProcessGroup | None = None
) -> torch.Tensor:
    """Concatenate along `dim` the tensors of all ranks, whose sizes along `dim` may differ."""
    world_size = dist.get_world_size(group)
    dim %= tensor.dim()
    own = torch.tensor([tensor.size(dim)], dtype=torch.int64, device=tensor.device)
    gathered = [torch.empty_like(own) for _ in range(world_size)]
    dist.all_gather(gathered, own, group=group)
    sizes = [int(size) for size in torch.cat(gathered).tolist()]
    rows = tensor.transpose(0, dim).contiguous()
    padded = rows.new_zeros((max(sizes), *rows.shape[1:]))
    padded[: rows.size(0)] = rows
    # Why: bytes, because collectives do not know the 8-bit float types.
    raw = padded.view(torch.uint8) if padded.element_size() == 1 else padded
    parts = [torch.empty_like(raw) for _ in range(world_size)]
    dist.all_gather(parts, raw, group=group)
    kept = [part[:size] for part, size in zip(parts, sizes, strict=True)]
    return torch.cat(kept).view(tensor.dtype).transpose(0, dim).contiguous()


def dist_print(s: str = "", once_in_node: bool = False) -> None:
    """Print on every rank, or on local rank 0 of each node only."""
    if not once_in_node or _local_rank in (None, 0):
        print(s, flush=True)
