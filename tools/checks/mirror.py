"""The mirror of sources and tests: `a/include/deep_jit/x/y.hpp` has `tests/a/x/y_test.cpp`.

mirror.tests_without_source(root)   # a test whose subject was renamed or removed
mirror.sources_without_test(root)   # public headers and sources that no test is named after
"""

from __future__ import annotations

import re
from pathlib import Path

from tools.checks import tree

# (source path, as a pattern) -> (test path): both from the root, without suffix.
RULES = (
    (r"deepjit_core/include/deep_jit/(.+)", r"tests/deepjit_core/\1"),
    (r"backends_(\w+)/include/deep_jit/backend/\w+/(.+)", r"tests/backends_\1/\2"),
    (r"deep_gemm/csrc/(.+)", r"tests/deep_gemm/\1"),
    (r"deep_gemm/include/deep_gemm/(.+)", r"tests/deep_gemm/\1"),
)

# Tests of a whole folder, or of what only shows between processes.
SUITES = {
    "tests/backends_ascend/embedding": "three back ends in one translation unit",
    "tests/backends_ascend/processes": "many processes on one cache",
    "tests/backends_ascend/runtime": "Runtime<Ascend> from end to end",
    "tests/backends_host/processes": "many processes on one cache",
    "tests/backends_host/runtime": "Runtime<Host> from end to end",
    "tests/deep_gemm/layout/smem_reads": "what the copy engine writes, wgmma reads",
    "tests/deepjit_core/cache/disk_fault": "one failing system call at a time",
    "tests/deepjit_core/cache/disk_shipped": "layers that were installed beside the library",
    "tests/deepjit_core/cache/process": "many processes on one cache",
    "tests/deepjit_core/runtime/runtime_fault": "one failing system call at a time",
    "tests/deepjit_core/utils/system": "the utilities that call the system",
    "tests/deepjit_core/utils/text": "the utilities that make text",
}


def expected_test(source: str) -> str | None:
    """The test of a source, both without suffix; None where the rules know no mirror."""
    for pattern, test in RULES:
        if re.fullmatch(pattern, source):
            return re.sub(pattern, test, source)
    return None


def _sources(root: Path) -> set[str]:
    found = tree.files(root, ".h", ".hpp", ".cpp")
    names = {path.relative_to(root).with_suffix("").as_posix() for path in found}
    return {name for name in names if expected_test(name)}


def _tests(root: Path) -> set[str]:
    found = tree.files(root / "tests", ".cpp")
    names = (path.relative_to(root).with_suffix("").as_posix() for path in found)
    return {name.removesuffix("_test") for name in names if name.endswith("_test")}


def sources_without_test(root: Path) -> list[str]:
    tests = _tests(root)
    return sorted(name for name in _sources(root) if expected_test(name) not in tests)


def tests_without_source(root: Path) -> list[str]:
    subjects = {expected_test(name) for name in _sources(root)}
    return sorted(name for name in _tests(root) if name not in subjects and name not in SUITES)
