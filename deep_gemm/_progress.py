"""A progress bar on stderr: tqdm's where it is installed, a plain one otherwise.

with progress(total) as bar:
    bar.set_description("compiling")
    bar.update(1)
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Protocol

__all__ = ["Bar", "progress"]


class Bar(Protocol):
    """What both kinds of bar can do."""

    def set_description(self, text: str) -> None: ...
    def update(self, count: int) -> object: ...
    def close(self) -> None: ...


class _PlainBar:
    def __init__(self, total: int) -> None:
        self._total = max(total, 1)
        self._done = 0
        self._text = ""

    def set_description(self, text: str) -> None:
        self._text = text
        self._show()

    def update(self, count: int) -> None:
        self._done += count
        self._show()

    def close(self) -> None:
        self.set_description("done")
        print(file=sys.stderr)

    def _show(self) -> None:
        filled = min(24, 24 * self._done // self._total)
        bar = "#" * filled + "-" * (24 - filled)
        line = f"\r[{bar}] {self._done}/{self._total} {self._text:<44}"
        print(line, end="", file=sys.stderr, flush=True)


class _NoBar:
    def set_description(self, text: str) -> None: ...
    def update(self, count: int) -> None: ...
    def close(self) -> None: ...


@contextlib.contextmanager
def progress(total: int, *, shown: bool = True) -> Iterator[Bar]:
    """A bar of `total` steps; `shown=False` gives one that prints nothing."""
    bar: Bar
    if not shown:
        bar = _NoBar()
    else:
        try:
            from tqdm import tqdm
        except ImportError:
            bar = _PlainBar(total)
        else:
            bar = tqdm(total=total, file=sys.stderr, leave=True)
    try:
        yield bar
    finally:
        bar.close()
