"""What the auditors say of the wheel: its tag is the lowest, its ABIs are the stable ones."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.packaging import wheels
from tools.checks import tree
from tools.packaging.platform_tag import needed_versions, platform_tag


def auditor(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        command, environment = tree.lint_tool(name)
    except FileNotFoundError as error:
        pytest.skip(f"not fetched: {error}")
    return subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True)


def test_auditwheel_confirms_the_tag_of_the_wheel(tmp_path: Path) -> None:
    wheel = wheels.wheel(tmp_path)
    done = auditor("auditwheel", "show", str(wheel))
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    found = re.search(r'is consistent with the following platform tag: "(\w+)"', text)
    # torch's library is no part of any policy: auditwheel names the tag of the symbols apart.
    symbols = re.search(r'constrains the platform tag to "(\w+)"', text)
    tag = platform_tag(wheels.extension())
    assert symbols or found, text
    assert (symbols or found)[1] == tag, text
    assert tag in wheel.name


def test_symbols_stay_below_the_ceilings_of_the_tag() -> None:
    versions = needed_versions(wheels.extension())
    newest = {}
    for version in versions:
        stem, _, number = version.rpartition("_")
        if re.fullmatch(r"[\d.]+", number):
            key = tuple(int(part) for part in number.split("."))
            newest[stem] = max(newest.get(stem, ()), key)
    assert newest["GLIBC"] <= (2, 34), sorted(versions)
    assert newest["GLIBCXX"] <= (3, 4, 29), sorted(versions)


def test_abi3audit_finds_no_violation() -> None:
    done = auditor(
        "abi3audit",
        "--strict",
        "--verbose",
        "--assume-minimum-abi3",
        "3.10",
        str(wheels.extension()),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    text = " ".join((done.stdout + done.stderr).split())
    assert "0 ABI version mismatches and 0 ABI violations" in text, text
