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


def run(
    folder: Path, programs: list[str], *arguments: str, **scripts: str
) -> subprocess.CompletedProcess[str]:
    """bazelw on a PATH that has `programs` of the machine and the given scripts, and no others."""
    path = folder / "bin"
    path.mkdir()
    for name in [*BASE, *programs]:
        found = shutil.which(name)
        if found:
            (path / name).symlink_to(found)
    for name, text in scripts.items():
        script = path / name.replace("_", "-")
        script.unlink(missing_ok=True)  # a link into the machine
        script.write_text(f"#!/bin/sh\n{text}\n")
        script.chmod(0o755)
    environment = {"PATH": str(path), "HOME": str(folder)}
    return subprocess.run(
        ["sh", str(BAZELW), *(arguments or ["version"])],
        env=environment,
        capture_output=True,
        text=True,
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


debian = pytest.mark.skipif(
    not os.path.isdir("/usr/share/bazel/tools/skylib"), reason="Debian's rule folders are absent"
)
COMPILERS = ["gcc", "g++"]


@debian
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


# An apt-get that notes how it was called and "installs" a bazel that repeats its arguments.
APT_GET = """echo "$@" >> "$HOME/apt.log"
if [ "$1" = install ]; then
  printf '%s\\n' '#!/bin/sh' 'for word; do echo "[$word]"; done' > "$HOME/bin/bazel"
  chmod 755 "$HOME/bin/bazel"
fi"""
DPKG = "echo 4.2.3+ds-9"


def test_without_root_and_sudo_the_command_to_run_as_root_is_told(tmp_path: Path) -> None:
    done = run(tmp_path, COMPILERS, python3=PYTHON, apt_get=APT_GET, id="echo 1000")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "needs root" in last and "no sudo" in last and "apt-get" in last
    assert not (tmp_path / "apt.log").exists(), "nothing was tried without the right to"


@debian
def test_without_root_sudo_installs_and_only_that(tmp_path: Path) -> None:
    sudo = 'echo "$@" >> "$HOME/sudo.log"; exec "$@"'
    done = run(
        tmp_path,
        [*COMPILERS, "chmod"],
        "test",
        "//a b:c",
        "--x='y'",
        python3=PYTHON,
        apt_get=APT_GET,
        sudo=sudo,
        dpkg_query=DPKG,
        id="echo 1000",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[test]", "[//a b:c]", "[--x='y']"]
    log = (tmp_path / "apt.log").read_text().splitlines()
    assert log[0].startswith("update") and log[1].startswith("install")
    assert "bazel-bootstrap" in log[1] and "bazel-skylib" in log[1]
    assert len((tmp_path / "sudo.log").read_text().splitlines()) == 2


@debian
def test_root_installs_without_sudo(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        [*COMPILERS, "chmod"],
        python3=PYTHON,
        apt_get=APT_GET,
        dpkg_query=DPKG,
        id="echo 0",
    )
    assert done.returncode == 0 and done.stdout == "[version]\n"


def test_a_machine_without_apt_get_is_told_what_to_install_by_hand(tmp_path: Path) -> None:
    done = run(tmp_path, COMPILERS, python3=PYTHON)
    assert done.returncode == 1 and "no apt-get" in done.stderr and "4.2.3" in done.stderr


@pytest.mark.parametrize(("verb", "words"), [("update", "package lists"), ("install", "install")])
def test_an_apt_get_that_fails_is_named(verb: str, words: str, tmp_path: Path) -> None:
    fails = f'[ "$1" != {verb} ]'
    done = run(tmp_path, COMPILERS, python3=PYTHON, apt_get=fails, id="echo 0")
    assert done.returncode == 1
    assert words in done.stderr.splitlines()[-1]


def test_a_missing_compiler_is_told_before_anything_is_installed(tmp_path: Path) -> None:
    done = run(tmp_path, [], python3=PYTHON, apt_get=APT_GET, id="echo 0")
    assert done.returncode == 1 and "no C++ compiler" in done.stderr
    assert not (tmp_path / "apt.log").exists()


@debian
def test_nothing_is_installed_where_everything_is_there(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        COMPILERS,
        python3=PYTHON,
        apt_get=APT_GET,
        dpkg_query=DPKG,
        bazel='echo "bazel $@"',
        id="echo 1000",
    )
    assert done.stdout == "bazel version\n" and done.returncode == 0
    assert not (tmp_path / "apt.log").exists()
