"""One formatter per language, and Python's linter."""

from __future__ import annotations

import subprocess

import pytest

from tools.checks import tree

ROOT = tree.root()


def run(tool: str, *arguments: str) -> None:
    command, environment = tree.lint_tool(tool)
    done = subprocess.run(
        [*command, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]


@pytest.mark.parametrize("arguments", [["check"], ["format", "--check", "--diff"]], ids=" ".join)
def test_python_is_as_ruff_wants_it(arguments: list[str]) -> None:
    run("ruff", *arguments, "--no-cache", "--quiet", *map(str, tree.files(ROOT, ".py")))


def test_cpp_is_as_clang_format_writes_it() -> None:
    sources = map(str, tree.files(ROOT, ".h", ".hpp", ".cpp", ".cuh", ".cu"))
    run("clang-format", "--dry-run", "--Werror", "--style=file", *sources)
