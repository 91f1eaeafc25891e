"""What a family makes of a row: a call to time, its cost, its error, a vendor call beside it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Call = Callable[[], Any]


@dataclass
class Workload:
    """`error` runs the call on poisoned outputs and compares with a float32 reference."""

    call: Call
    error: Callable[[], float]
    flops: float = 0.0
    num_bytes: float = 0.0
    vendor: Call | None = None


def bound(function: Callable[..., Any], *args: Any, **wanted: Any) -> Call:
    """The call with those keywords that this release has."""
    try:
        known = inspect.signature(function).parameters
        wanted = {key: value for key, value in wanted.items() if key in known}
    except (ValueError, TypeError):
        text = function.__doc__ or ""
        wanted = {key: value for key, value in wanted.items() if key in text}
    return lambda: function(*args, **wanted)


def number_in(extra: str, key: str, default: int | None = None) -> int | None:
    """`key=12` in a row's free text; `key=None` is None."""
    for part in extra.replace(";", ",").split(","):
        name, _, value = part.partition("=")
        if name.strip() == key:
            return None if value.strip() == "None" else int(value)
    return default
