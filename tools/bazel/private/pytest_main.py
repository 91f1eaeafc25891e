"""The main of every `dj_py_test`: runs pytest on the test modules named on the command line.

Started by Bazel with paths relative to the runfiles' workspace folder, which is the working
directory of a test. Honours Bazel's test filter, sharding and XML output.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


class Shard:
    """Keeps every n-th test of a sharded run and tells Bazel that sharding is understood."""

    def __init__(self, index: int, total: int) -> None:
        self.index = index
        self.total = total

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = items[self.index :: self.total]


class NothingIsMissing:
    """Fails what skips for want of something that Bazel fetches or builds.

    Such reasons begin with "not fetched: ". By hand they are reasons to skip; here they mean that
    the target does not declare what its test reads.
    """

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self) -> Iterator[None]:
        report = (yield).get_result()
        if report.skipped and isinstance(report.longrepr, tuple):
            reason = report.longrepr[2]
            if "not fetched: " in reason:
                report.outcome, report.longrepr = "failed", f"skipped under Bazel: {reason}"


def main(arguments: list[str]) -> int:
    # Bazel hands no HOME on; what a test caches by default goes with the test.
    if home := os.environ.get("TEST_TMPDIR"):
        os.environ.setdefault("HOME", home)
    options = ["-p", "no:cacheprovider", "--import-mode=importlib", "-ra", "--color=no"]
    options += [f"--rootdir={Path.cwd()}"]
    if xml := os.environ.get("XML_OUTPUT_FILE"):
        options.append(f"--junitxml={xml}")
    if only := os.environ.get("TESTBRIDGE_TEST_ONLY"):
        options += ["-k", only]
    plugins: list[object] = [NothingIsMissing()]
    total = int(os.environ.get("TEST_TOTAL_SHARDS", "1"))
    if total > 1:
        Path(os.environ["TEST_SHARD_STATUS_FILE"]).touch()
        plugins.append(Shard(int(os.environ["TEST_SHARD_INDEX"]), total))
    code = pytest.main([*options, *arguments], plugins=plugins)
    if code == pytest.ExitCode.NO_TESTS_COLLECTED and total > 1:
        return 0  # A shard may be empty; a whole test may not.
    return int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
