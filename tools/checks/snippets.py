"""Documents as data: their links, their headings, and the code blocks in them.

for block in snippets.blocks(path): block.language, block.text, block.line
snippets.broken_links(path)          # one line of text each
snippets.command_lines(path)         # argv of every `python -m deep_gemm ...` line
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.checks import tree

__all__ = ["Block", "blocks", "broken_links", "command_lines", "documents"]

_FENCE = re.compile(r"^```(\w*)$")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+\s+(.*)$")


@dataclass(frozen=True)
class Block:
    """One fenced block; `line` is that of its first line of code."""

    path: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.path.name}:{self.line}"


def documents(root: Path) -> list[Path]:
    """Every page of the product, sorted."""
    return [path for path in tree.files(root, ".md") if "tests" not in path.parts]


def blocks(path: Path) -> list[Block]:
    """The fenced blocks of a page in order."""
    found: list[Block] = []
    language, start, lines = "", 0, []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        fence = _FENCE.match(line)
        if start and line == "```":
            found.append(Block(path, start, language, "\n".join(lines) + "\n"))
            start = 0
        elif start:
            lines.append(line)
        elif fence:
            language, start, lines = fence[1], number + 1, []
    if start:
        raise ValueError(f"{path}:{start - 1}: a code block without an end")
    return found


def _prose(path: Path) -> Iterator[tuple[int, str]]:
    is_code = False
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, line


def _anchors(path: Path) -> set[str]:
    """Ids that headings get: lower case, words joined by dashes, no punctuation."""
    found = set()
    for _, line in _prose(path):
        if heading := _HEADING.match(line):
            text = re.sub(r"[`*]", "", heading[1]).lower()
            found.add(re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-"))
    return found


def broken_links(path: Path) -> list[str]:
    """Links of a page that lead nowhere in the checkout; addresses on the network are not asked."""
    broken = []
    for number, line in _prose(path):
        for target in _LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            place = (path.parent / file).resolve() if file else path
            if not place.exists():
                broken.append(f"{path.name}:{number}: {target}: there is no such file")
            elif anchor and (place.suffix != ".md" or anchor not in _anchors(place)):
                broken.append(f"{path.name}:{number}: {target}: there is no such heading")
    return broken


def command_lines(path: Path) -> list[list[str]]:
    """Arguments of every `python -m deep_gemm` line of shell blocks, prose and tables."""
    found = []
    for block in blocks(path):
        if block.language == "sh":
            for line in block.text.splitlines():
                if at := re.search(r"python3? -m deep_gemm (.*)", line):
                    found.append(shlex.split(at[1], comments=True))
    for _, line in _prose(path):
        for command in re.findall(r"`python3? -m deep_gemm ([^`]*)`", line):
            found.append(shlex.split(command))
    return found
