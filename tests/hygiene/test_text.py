"""Length of files, marks of unfinished work, paths of one machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.checks import text, tree


def test_no_file_is_longer_than_its_kind_allows() -> None:
    assert text.too_long(tree.root()) == []


def test_nothing_is_marked_as_unfinished() -> None:
    assert text.unfinished(tree.root()) == []


def test_no_file_names_a_path_or_a_host_of_one_machine() -> None:
    assert text.foreign(tree.root()) == []


def test_the_torch_target_version_stands_once() -> None:
    literal = re.compile(r"0x020[a-f0-9]0{8,}", re.IGNORECASE)
    holders = [
        path.relative_to(tree.root()).as_posix()
        for path in tree.files(tree.root(), ".py", ".bzl", ".bazel", ".cpp", ".h", ".hpp", ".toml")
        if "tests" not in path.relative_to(tree.root()).parts and literal.search(path.read_text())
    ]
    assert holders == ["tools/bazel/torch_target.bzl"]


@pytest.mark.parametrize(
    ("name", "lines", "is_too_long"),
    [
        ("a/include/a.hpp", 250, False),
        ("a/include/a.hpp", 251, True),
        ("a/include/k.cuh", 400, False),
        ("a/a.cpp", 301, True),
        ("a/a.md", 5000, False),
    ],
)
def test_limits_depend_on_the_kind_of_file(
    name: str, lines: int, is_too_long: bool, tmp_path: Path
) -> None:
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text("x\n" * lines)
    assert bool(text.too_long(tmp_path)) is is_too_long
