"""Comparing results: similarity, bitwise equality, bytes moved.

assert calc_diff(d, reference) < 1e-3
assert_bitwise_equal(first, second, "same call twice")
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

__all__ = ["assert_bitwise_equal", "calc_diff", "count_bytes"]


def calc_diff(x: torch.Tensor, y: torch.Tensor) -> float:
    """1 - 2 sum(x y) / sum(x x + y y) in float64; 0.0 when both are zero."""
    x, y = x.double(), y.double()
    denominator = (x * x + y * y).sum().item()
    if denominator == 0:
        return 0.0
    return 1 - 2 * (x * y).sum().item() / denominator


def count_bytes(*tensors: torch.Tensor | Sequence | None) -> int:
    """Bytes of all tensors, through nested tuples and lists; None counts 0."""
    total = 0
    for tensor in tensors:
        if isinstance(tensor, (tuple, list)):
            total += count_bytes(*tensor)
        elif tensor is not None:
            total += tensor.numel() * tensor.element_size()
    return total


def assert_bitwise_equal(x: torch.Tensor, y: torch.Tensor, label: str = "") -> None:
    """Same shape, dtype and raw bytes; the message names the first byte that differs."""
    prefix = f"{label}: " if label else ""
    assert x.shape == y.shape, f"{prefix}shape {tuple(x.shape)} is not {tuple(y.shape)}"
    assert x.dtype == y.dtype, f"{prefix}dtype {x.dtype} is not {y.dtype}"
    if x.numel() == 0:
        return
    raw_x = x.contiguous().reshape(-1).view(torch.uint8)
    raw_y = y.contiguous().reshape(-1).view(torch.uint8)
    differing = (raw_x != raw_y).nonzero()
    if differing.numel():
        at = int(differing[0]) // x.element_size()
        got, want = x.reshape(-1)[at].item(), y.reshape(-1)[at].item()
        raise AssertionError(f"{prefix}element {at} differs first: {got!r} is not {want!r}")
