"""Numeric budgets: how far a result may be from the float64 reference.

    assert_close(d, want, k=7168, case="m7-n2112-k7168")

A budget is a small multiple of what the same product costs when done plainly: rounding to the
output type, plus float32 accumulation over k. The message names the case and the worst element.
Where Hopper's FP8 tensor cores sum, an instruction cuts its 33 terms (32 products and the sum so
far) at 13 bits below the largest. Four of them a block of 128, each cut even over its unit: an rms
of sqrt(4 * 33 / 3) * 2^-13 of the largest term; a large one is 1/4 of the block's sum |a||b|, and
5 of these are 2^-10 of it. Blocks err apart: over k, 1 / sqrt(k / 128) of that.
"""

from __future__ import annotations

import torch

_ROUNDING = {torch.bfloat16: 2.0**-8, torch.float32: 2.0**-23}
_HOPPER_FP8 = {torch.bfloat16: 2.0**-12, torch.float32: 2.0**-10}
_HOPPER_FP8_NORM = 1e-3  # of a whole float32 result; that model gives 1.3e-4


def _is_hopper(device: torch.device) -> bool:
    return device.type == "cuda" and torch.cuda.get_device_capability(device)[0] == 9


def _assert_close_as_a_whole(got: torch.Tensor, want: torch.Tensor, case: str) -> None:
    # Few elements may all be small by chance.
    if got.numel() < 64 or not bool(got.isfinite().all()):
        return
    error, norm = float((got.double() - want).norm()), float(want.double().norm())
    assert error <= _HOPPER_FP8_NORM * norm, f"{case}: error {error:.3e} of a result of {norm:.3e}"


def assert_close(
    got: torch.Tensor,
    want: torch.Tensor,
    *,
    magnitude: torch.Tensor | None = None,
    k: int,
    case: str,
    roundings: int = 1,
    fp8: bool = False,
) -> None:
    """|got - want| within the budget everywhere; `magnitude` is sum |a||b| (default |want|).

    `fp8`: both operands are E4M3, so that a result on Hopper may come from FP8 products.
    """
    assert got.shape == want.shape, f"{case}: shape {tuple(got.shape)} is not {tuple(want.shape)}"
    if got.numel() == 0:
        return
    scale = want.abs() if magnitude is None else magnitude
    accumulate = max(k, 1) ** 0.5 * 8 * 2.0**-24 * scale
    if fp8 and _is_hopper(got.device):
        accumulate = accumulate + _HOPPER_FP8[got.dtype] * scale / max(1.0, k / 128) ** 0.5
        if got.dtype == torch.float32:
            _assert_close_as_a_whole(got, want, case)
    budget = roundings * _ROUNDING[got.dtype] * want.abs() + accumulate + 1e-30
    excess = (got.double() - want).abs() - budget
    excess = torch.where(got.double().isfinite() == want.isfinite(), excess, torch.inf)
    worst = int(excess.argmax())
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(worst), got.shape))
    assert float(excess.flatten()[worst]) <= 0, (
        f"{case}: element {index}: got {got[index].item()!r}, want {want[index].item()!r}, "
        f"budget {budget[index].item():.3e}"
    )
