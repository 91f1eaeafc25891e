"""BUILD files as data: the targets they declare, without Bazel.

    for target in build_files.targets(path): target.rule, target.name, target.values["srcs"]

BUILD files are Python syntax, so they are executed with recorders for rules. `select` yields the
values of all its branches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.checks import tree


@dataclass(frozen=True)
class Target:
    rule: str
    name: str
    values: dict[str, Any]


class _Names(dict[str, Any]):
    """Globals of a BUILD file: every unknown name is a rule that records its call."""

    def __init__(self, recorded: list[Target]) -> None:
        super().__init__()
        self._recorded = recorded

    def __missing__(self, rule: str) -> Callable[..., Any]:
        def record(*_positional: Any, **values: Any) -> list[Any]:
            self._recorded.append(Target(rule, values.get("name", ""), values))
            return []

        return record


def _select(branches: Mapping[str, Any]) -> list[Any]:
    values = [branches[key] for key in branches]
    return [item for value in values for item in (value if isinstance(value, list) else [value])]


def targets(path: Path) -> list[Target]:
    """The calls of one BUILD file in order, `load` and `package` among them."""
    recorded: list[Target] = []
    names = _Names(recorded)
    names.update(select=_select, all=all, range=range, len=len, list=list, str=str)
    exec(compile(path.read_text(), str(path), "exec"), names)
    return recorded


def all_targets(root: Path) -> Iterator[tuple[str, Target]]:
    """(package, target) of every BUILD file of the tree."""
    for path in tree.files(root):
        if path.name == "BUILD.bazel":
            package = path.parent.relative_to(root).as_posix()
            for target in targets(path):
                yield "" if package == "." else package, target
