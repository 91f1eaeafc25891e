"""Numeric budgets: how far a result may be from the float64 reference.

    assert_close(d, want, k=7168, case="m7-n2112-k7168")

A budget is a small multiple of what the same product costs when done plainly: rounding to the
output type, plus float32 accumulation over k. The message names the case and the worst element.
Where Hopper's FP8 tensor cores sum, they keep about 13 bits below the largest of 32 terms.
"""

from __future__ import annotations

import torch

_ROUNDING = {torch.bfloat16: 2.0**-8, torch.float32: 2.0**-23}


def _is_hopper(device: torch.device) -> bool:
    return device.type == "cuda" and torch.cuda.get_device_capability(device)[0] == 9


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

    `fp8`: both operands are E4M3, so that a bfloat16 result on Hopper may come from FP8 products.
    """
    assert got.shape == want.shape, f"{case}: shape {tuple(got.shape)} is not {tuple(want.shape)}"
    if got.numel() == 0:
        return
    scale = want.abs() if magnitude is None else magnitude
    accumulate = max(k, 1) ** 0.5 * 8 * 2.0**-24 * scale
    if fp8 and got.dtype == torch.bfloat16 and _is_hopper(got.device):
        accumulate = accumulate + 2.0**-12 * scale / max(1.0, k / 128) ** 0.5
    budget = roundings * _ROUNDING[got.dtype] * want.abs() + accumulate + 1e-30
    excess = (got.double() - want).abs() - budget
    excess = torch.where(got.double().isfinite() == want.isfinite(), excess, torch.inf)
    worst = int(excess.argmax())
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(worst), got.shape))
    assert float(excess.flatten()[worst]) <= 0, (
        f"{case}: element {index}: got {got[index].item()!r}, want {want[index].item()!r}, "
        f"budget {budget[index].item():.3e}"
    )
