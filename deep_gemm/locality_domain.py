"""Memory near some multiprocessors: what devices with more than one such domain would offer.

get_num_locality_domains()      # 1: no device here has more
localize(weights)               # the tensor itself, since there is one domain

Published so that callers may ask; a tensor is as near as it can be with one domain.
"""

from __future__ import annotations

import torch

__all__ = [
    "destroy_localizer",
    "get_num_locality_domains",
    "is_localization_available",
    "is_localized",
    "localize",
]


def get_num_locality_domains() -> int:
    """How many domains the memory of the current device has."""
    return 1


def is_localization_available() -> bool:
    """Whether `localize` can move anything: with one domain it cannot."""
    return False


def localize(t: torch.Tensor, dim: int = -2) -> torch.Tensor:
    """t with its parts along `dim` near the multiprocessors that read them: here t itself."""
    if not -t.dim() <= dim < t.dim():
        raise IndexError(f"localize: dim={dim} of a tensor with {t.dim()} dimensions")
    return t


def is_localized(t: torch.Tensor) -> bool:
    """Whether `localize` moved t: never with one domain."""
    return False


def destroy_localizer() -> None:
    """Give back what `localize` keeps: nothing."""
