"""Selecting tests by device and environment.

@test_filter(lambda: get_arch_major() == 9)
def check_hopper_only(): ...
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import torch

__all__ = ["get_arch_major", "ignore_env", "test_filter"]

P = ParamSpec("P")
R = TypeVar("R")


def get_arch_major() -> int:
    """Major compute capability of the current GPU; 0 where there is none."""
    return torch.cuda.get_device_capability()[0] if torch.cuda.is_available() else 0


def test_filter(
    condition: Callable[[], bool],
) -> Callable[[Callable[P, R]], Callable[P, R | None]]:
    """Decorator: run the function only if `condition()` holds at the call."""

    def decorate(fn: Callable[P, R]) -> Callable[P, R | None]:
        @functools.wraps(fn)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> R | None:
            if condition():
                return fn(*args, **kwargs)
            print(f"{fn.__name__}: skipped, its condition does not hold here")
            return None

        return wrapper

    return decorate


# Why: pytest would otherwise collect the decorator itself in files that import it.
test_filter.__test__ = False  # type: ignore[attr-defined]


def ignore_env(
    name: str, condition: Callable[[], bool]
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator: take variable `name` out of the environment during the call if `condition()`."""

    def decorate(fn: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(fn)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
            saved = os.environ.pop(name, None) if condition() else None
            try:
                return fn(*args, **kwargs)
            finally:
                if saved is not None:
                    os.environ[name] = saved

        return wrapper

    return decorate
