"""Inputs of the workloads in plain torch, so that every implementation gets the same bits."""

from __future__ import annotations

import random

import torch

DEVICE = "cuda"


def normal(*sizes: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return torch.randn(*sizes, device=DEVICE, dtype=dtype)


def poisoned(*sizes: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.full(sizes, float("nan"), device=DEVICE, dtype=dtype)


def quantised_rows(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """x [..., k] -> E4M3 data and float32 scales [..., k / 128]."""
    parts = x.float().unflatten(-1, (-1, 128))
    scale = parts.abs().amax(-1).clamp(1e-4) / 448
    return (parts / scale.unsqueeze(-1)).flatten(-2).to(torch.float8_e4m3fn), scale


def quantised_blocks(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """x [r, k] -> E4M3 data and float32 scales [ceil(r / 128), k / 128]."""
    rows, k = x.shape
    padded = torch.nn.functional.pad(x.float(), (0, 0, 0, -rows % 128))
    parts = padded.view(-1, 128, k // 128, 128)
    scale = parts.abs().amax((1, 3), keepdim=True).clamp(1e-4) / 448
    data = (parts / scale).view(-1, k)[:rows].to(torch.float8_e4m3fn)
    return data.contiguous(), scale.view(scale.shape[0], scale.shape[2]).contiguous()


def quantised_stack(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """x [g, r, k], each matrix by blocks."""
    pairs = [quantised_blocks(matrix) for matrix in x]
    return torch.stack([data for data, _ in pairs]), torch.stack([scale for _, scale in pairs])


def quantised_tokens(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """x [t, d] -> E4M3 data and a float32 scale a token, [t]."""
    scale = x.float().abs().amax(-1).clamp(1e-4) / 448
    return (x.float() / scale[:, None]).to(torch.float8_e4m3fn), scale


def uneven(mean: float, groups: int, multiple: int = 1) -> list[int]:
    """Sizes of mean * U(0.7, 1.3), seed 0, each a multiple."""
    draw = random.Random(0)
    sizes = [int(mean * draw.uniform(0.7, 1.3)) for _ in range(groups)]
    return [max(multiple, -(-size // multiple) * multiple) for size in sizes]


def uneven_sum(total: int, groups: int, multiple: int) -> list[int]:
    """As `uneven`, adjusted to the sum."""
    sizes = uneven(total / groups, groups, multiple)
    at = 0
    while sum(sizes) != total:
        step = multiple if sum(sizes) < total else -multiple
        if sizes[at % groups] + step > 0:
            sizes[at % groups] += step
        at += 1
    return sizes


def difference(x: torch.Tensor, y: torch.Tensor) -> float:
    """1 - 2 x.y / (x.x + y.y) in float64: DeepGEMM's measure."""
    x, y = x.double(), y.double()
    denominator = (x * x + y * y).sum()
    return 0.0 if denominator == 0 else float(1 - 2 * (x * y).sum() / denominator)
