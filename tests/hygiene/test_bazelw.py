"""bazelw says in one sentence what is missing, by name."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.checks import tree

BAZELW = tree.root() / "tools/bazelw"
BASE = ["sh", "env", "id", "sed", "cat"]


def run(folder: Path, programs: list[str], **scripts: str) -> subprocess.CompletedProcess[str]:
    """bazelw on a PATH that has `programs` of the machine and the given scripts."""
    path = folder / "bin"
    path.mkdir()
    for name in [*BASE, *programs]:
        found = shutil.which(name)
        if found:
            (path / name).symlink_to(found)
    for name, text in scripts.items():
        script = path / name.replace("_", "-")
        script.write_text(f"#!/bin/sh\n{text}\n")
        script.chmod(0o755)
    environment = {"PATH": str(path), "HOME": str(folder)}
    return subprocess.run(
        ["sh", str(BAZELW), "version"], env=environment, capture_output=True, text=True
    )


PYTHON = "exit 0"


@pytest.mark.parametrize(
    ("scripts", "words"),
    [
        ({"bazel": "exit 0", "gcc": "", "g__": ""}, ["python3", "3.10"]),
        ({"bazel": "exit 0", "python3": "exit 1", "gcc": ""}, ["older than Python 3.10"]),
        ({"bazel": "exit 0", "python3": PYTHON}, ["C++ compiler", "gcc", "g++"]),
    ],
    ids=["no-python", "old-python", "no-compiler"],
)
def test_a_missing_tool_is_named_in_one_sentence(
    scripts: dict[str, str], words: list[str], tmp_path: Path
) -> None:
    done = run(tmp_path, [], **scripts)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert all(word in done.stderr for word in words), done.stderr


@pytest.mark.skipif(
    not os.path.isdir("/usr/share/bazel/tools/skylib"), reason="Debian's rule folders are absent"
)
def test_another_version_is_refused_by_number(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        ["gcc", "g++"],
        python3=PYTHON,
        dpkg_query="exit 1",
        bazel='[ "$1" = --version ] && echo bazel 7.4.1',
    )
    assert done.returncode == 1
    assert "4.2.3" in done.stderr and "7.4.1" in done.stderr
