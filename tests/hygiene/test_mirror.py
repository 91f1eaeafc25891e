"""Tests stand where their sources do."""

from __future__ import annotations

from pathlib import Path

from tools.checks import mirror, tree


def test_every_cpp_test_is_named_after_a_source() -> None:
    assert mirror.tests_without_source(tree.root()) == []


def test_an_orphan_test_and_an_untested_source_are_both_listed(tmp_path: Path) -> None:
    for name in (
        "deepjit_core/include/deep_jit/utils/tested.hpp",
        "deepjit_core/include/deep_jit/utils/forgotten.hpp",
        "tests/deepjit_core/utils/tested_test.cpp",
        "tests/deepjit_core/utils/orphan_test.cpp",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert mirror.tests_without_source(tmp_path) == ["tests/deepjit_core/utils/orphan"]
    assert mirror.sources_without_test(tmp_path) == [
        "deepjit_core/include/deep_jit/utils/forgotten"
    ]
