"""Rules about the text of files: length, markers of unfinished work, paths of one machine.

text.too_long(root); text.unfinished(root); text.foreign(root)   # one line of text each
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tools.checks import tree

LIMITS = {".cuh": 400, ".cu": 400, ".cpp": 300, ".py": 300, ".bzl": 300}
PUBLIC_HEADER = 250
HEADER = 300

# A longer file says why in its first lines.
EXCUSE = re.compile(r"Longer than usual", re.IGNORECASE)

# Spelled so that this file does not match itself.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b")
MACHINE_PATH = re.compile(r"(?<![\w.$}>/-])/(work|root|mnt)/\w+")
REGISTRY = re.compile(r"\b(pypi\.org|files\.pythonhosted|deb\.debian\.org|registry\.npmjs)")


def limit_of(path: Path) -> int | None:
    """Most lines of a file of this kind; None where there is no limit."""
    if path.suffix in {".h", ".hpp"}:
        return PUBLIC_HEADER if "include" in path.parts else HEADER
    return LIMITS.get(path.suffix)


def too_long(root: Path) -> list[str]:
    found = []
    for path in tree.files(root):
        limit = limit_of(path.relative_to(root))
        if limit is None:
            continue
        lines = path.read_text().splitlines()
        if len(lines) > limit and not any(EXCUSE.search(line) for line in lines[:20]):
            found.append(f"{path.relative_to(root)}: {len(lines)} lines, {limit} at most")
    return found


def _matches(root: Path, pattern: re.Pattern[str]) -> Iterator[str]:
    for path in tree.files(root):
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            if found := pattern.search(line):
                yield f"{path.relative_to(root)}:{number}: {found[0]}"


def unfinished(root: Path) -> list[str]:
    return list(_matches(root, UNFINISHED))


def foreign(root: Path) -> list[str]:
    """Paths of one machine and names of package hosts, which belong into nobody's repository."""
    return [*_matches(root, MACHINE_PATH), *_matches(root, REGISTRY)]
