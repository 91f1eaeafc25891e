#!/usr/bin/env python3
"""Runs the version matrix and prints one table of its cells.

    python3 tools/dev/matrix.py [ARGUMENT...]

Arguments go to Bazel: `//tests/matrix:torch` for one row of the matrix, everything without any.
The exit code is Bazel's. Needs nothing but Python.
"""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Bazel's line for a target: its label, its verdict and, where it ran, how long it took.
_VERDICT = re.compile(
    r"^(//\S+)\s+(?:\(cached\) )?(PASSED|FAILED TO BUILD|FAILED|FLAKY|TIMEOUT|NO STATUS)"
    r"(?:.* in ([0-9.]+)s)?"
)
_HEADER = ("cell", "versions", "cases", "skipped", "seconds", "verdict")
# How the lines of a cubin_matrix_test's table begin.
_RESOURCES = ("compiler ", "nvcc ", "nvrtc ")


@dataclass
class Row:
    """One target of the matrix, as its verdict and the report it left say."""

    label: str
    verdict: str
    seconds: str
    cases: int = 0
    skipped: int = 0
    versions: dict[str, str] = field(default_factory=dict)
    resources: list[str] = field(default_factory=list)  # lines of a cubin_matrix_test's table

    def fields(self) -> tuple[str, ...]:
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        cases, skipped = (str(count) if self.cases else "" for count in (self.cases, self.skipped))
        return self.label, versions, cases, skipped, self.seconds, self.verdict


def _reports(folder: Path) -> list[ElementTree.Element]:
    suites: list[ElementTree.Element] = []
    for path in sorted(folder.glob("**/test.xml")):
        try:
            suites += ElementTree.parse(path).getroot().iter("testsuite")
        except ElementTree.ParseError:
            continue  # A test that was killed leaves half a report; its verdict says so.
    return suites


def _resources(folder: Path) -> list[str]:
    lines: list[str] = []
    for log in sorted(folder.glob("**/test.log")):
        text = log.read_text(errors="replace")
        lines += [line for line in text.splitlines() if line.startswith(_RESOURCES)]
    return lines


def rows(output: str, logs: Path) -> list[Row]:
    """The table's rows from what Bazel printed and the folder of its test logs."""
    found = []
    for line in output.splitlines():
        match = _VERDICT.match(line.strip())
        if not match:
            continue
        row = Row(match[1], match[2].lower(), match[3] or "")
        folder = logs / row.label.lstrip("/").replace(":", "/")
        if row.verdict in ("passed", "failed", "flaky"):
            for suite in _reports(folder):
                row.cases += int(suite.get("tests", 0))
                row.skipped += int(suite.get("skipped", 0))
                for item in suite.iter("property"):
                    row.versions[item.get("name", "")] = item.get("value", "")
            row.resources = _resources(folder)
        found.append(row)
    return sorted(found, key=lambda row: row.label)


def text(found: list[Row]) -> str:
    """`found` as a Markdown table, and below it what kernels use under each compiler."""
    lines = [_HEADER, *(row.fields() for row in found)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    drawn = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines]
    drawn.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    for row in found:
        if row.resources:
            drawn += ["", row.label, "", *row.resources]
    passed = sum(row.verdict == "passed" for row in found)
    return "\n".join([*drawn, "", f"{passed} of {len(found)} cells passed"])


def main(arguments: list[str]) -> int:
    bazelw = str(ROOT / "tools/bazelw")
    command = [bazelw, "test", "--config=matrix", "--keep_going", "--noshow_progress", "--color=no"]
    command += arguments or ["//..."]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        output = []
        for line in process.stdout:
            print(line, end="", flush=True)
            output.append(line)
    info = [bazelw, "info", "bazel-testlogs"]
    logs = subprocess.run(info, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    print("\n" + text(rows("".join(output), Path(logs))))
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
