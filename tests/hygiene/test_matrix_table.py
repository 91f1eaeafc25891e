"""The table of the version matrix, from what Bazel prints and the reports it leaves."""

from __future__ import annotations

from pathlib import Path

from tools.dev import matrix

OUTPUT = """\
INFO: Build completed, 1 test FAILED, 12 total actions
//tests/matrix:torch_2_15                                                PASSED in 7.9s
//tests/matrix:nvrtc_12_8                                       (cached) PASSED in 0.8s
//tests/matrix/kernels:compilers_test                                    PASSED in 0.1s
//tests/matrix:python_3_10                                               FAILED in 1.2s
  /somewhere/testlogs/tests/matrix/python_3_10/test.log
//tests/matrix:python_3_13                                      FAILED TO BUILD
Executed 4 out of 5 tests: 3 tests pass, 1 fails to build and 1 fails locally.
"""

REPORT = """\
<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" tests="9" skipped="1">
<properties><property name="python" value="3.11.7"/>
<property name="torch" value="2.15.0"/></properties>
</testsuite></testsuites>
"""


def logs(folder: Path) -> Path:
    cell = folder / "tests/matrix/torch_2_15"
    cell.mkdir(parents=True)
    (cell / "test.xml").write_text(REPORT)
    killed = folder / "tests/matrix/python_3_10"
    killed.mkdir(parents=True)
    (killed / "test.xml").write_text("<testsuites><testsuite")
    stale = folder / "tests/matrix/python_3_13"
    stale.mkdir(parents=True)
    (stale / "test.xml").write_text(REPORT)
    kernels = folder / "tests/matrix/kernels/compilers_test"
    kernels.mkdir(parents=True)
    (kernels / "test.log").write_text("-----\ncompiler  arch\nnvrtc 12.8  90a\nother\n")
    return folder


def test_a_row_has_verdict_time_cases_and_versions(tmp_path: Path) -> None:
    rows = {row.label: row for row in matrix.rows(OUTPUT, logs(tmp_path))}
    assert rows["//tests/matrix:torch_2_15"].fields() == (
        "//tests/matrix:torch_2_15",
        "python 3.11.7, torch 2.15.0",
        "9",
        "1",
        "7.9",
        "passed",
    )
    assert rows["//tests/matrix:nvrtc_12_8"].fields()[1:] == ("", "", "", "0.8", "passed")


def test_failures_are_rows_and_old_or_torn_reports_are_not_believed(tmp_path: Path) -> None:
    rows = {row.label: row for row in matrix.rows(OUTPUT, logs(tmp_path))}
    assert rows["//tests/matrix:python_3_10"].fields()[1:] == ("", "", "", "1.2", "failed")
    assert rows["//tests/matrix:python_3_13"].fields()[1:] == ("", "", "", "", "failed to build")


def test_the_text_counts_cells_and_appends_the_resources(tmp_path: Path) -> None:
    text = matrix.text(matrix.rows(OUTPUT, logs(tmp_path)))
    lines = text.splitlines()
    assert lines[-1] == "3 of 5 cells passed"
    assert len({len(line) for line in lines[:7]}) == 1  # Header, rule and five rows of one width.
    at = lines.index("//tests/matrix/kernels:compilers_test")
    assert lines[at + 2 : at + 4] == ["compiler  arch", "nvrtc 12.8  90a"]


def test_nothing_run_is_a_table_of_none(tmp_path: Path) -> None:
    assert matrix.text(matrix.rows("ERROR: no such target", tmp_path)).endswith(
        "0 of 0 cells passed"
    )
