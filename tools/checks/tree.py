"""The checkout and its files, and the locked tools that look at them.

    for path in tree.files(tree.root(), ".hpp", ".cpp"): ...
    tree.lint_tool("ruff")   # a command line to which arguments are added

Under Bazel the checks read the checkout itself, found through the link of this file: what they
judge is every file, which no list of inputs could promise.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

_SKIPPED = {"__pycache__", "build", "dist", "node_modules"}
# A workspace of its own, with rules of its own.
_FOREIGN_WORKSPACE = "tests/consumers/bazel/workspace"
_HIDDEN_BUT_OURS = {".bazelrc", ".bazelignore", ".ci", ".clang-format", ".gitignore"}
_BUILT = {".so", ".pyc", ".o"}


def root() -> Path:
    """The top folder of the checkout."""
    return Path(__file__).resolve().parents[2]


def is_ours(name: str) -> bool:
    """Whether a file or folder name is the product's, and no tool's output."""
    if name.startswith("."):
        return name in _HIDDEN_BUT_OURS
    return name not in _SKIPPED and not name.startswith("bazel-") and not name.endswith("egg-info")


def files(top: Path, *suffixes: str) -> Iterator[Path]:
    """Files of the product under `top`, sorted; with one of `suffixes`, where some are given."""
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if is_ours(name))
        if folder.endswith(_FOREIGN_WORKSPACE):
            continue
        for name in sorted(filter(is_ours, names)):
            path = Path(folder, name)
            if path.suffix in _BUILT or path.is_symlink():
                continue
            if not suffixes or path.suffix in suffixes:
                yield path


def fetched(listing: str) -> Path | None:
    """The folder that a repository's listing names, such as `lint/site.txt`; None where Bazel has
    not fetched it for this test."""
    try:
        from runfiles import Runfiles
    except ModuleNotFoundError:
        return None
    runfiles = Runfiles.Create()
    path = runfiles.Rlocation(listing) if runfiles else None
    if not path or not Path(path).exists():
        return None
    return Path(Path(path).read_text().splitlines()[0].strip())


def lint_tool(name: str) -> tuple[list[str], dict[str, str]]:
    """Command line and environment of a program of the `lint` lock file.

    Without Bazel the program is taken from PATH.
    """
    if site := fetched("lint/site.txt"):
        environment = {**os.environ, "PYTHONPATH": str(site)}
        program = site / "bin" / name
        is_script = program.read_bytes()[:2] == b"#!"
        return ([sys.executable] if is_script else []) + [str(program)], environment
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if not found:
        raise FileNotFoundError(f"{name}: run under Bazel, or install it (lint.in)")
    return [found], dict(os.environ)
