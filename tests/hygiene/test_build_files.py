"""Rules about BUILD files, and the agreement of Bazel and setuptools."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from tools.checks import build_files, tree

ROOT = tree.root()
PACKAGES = [path for path in tree.files(ROOT) if path.name == "BUILD.bazel"]
HOUSES = {"backends_ascend", "backends_cuda", "backends_host", "deep_gemm", "deepjit_core"}
NAMES = [path.relative_to(ROOT).as_posix() for path in PACKAGES]


@pytest.mark.parametrize("path", PACKAGES, ids=NAMES)
def test_a_package_states_its_default_visibility(path: Path) -> None:
    packages = [target for target in build_files.targets(path) if target.rule == "package"]
    assert len(packages) == 1
    is_flags = path.parent in {ROOT / "tools/config", ROOT / "tools/platforms"}
    visibility = packages[0].values["default_visibility"]
    assert is_flags or "//visibility:public" not in visibility


@pytest.mark.parametrize("path", PACKAGES, ids=NAMES)
def test_sources_are_listed_and_flags_are_not_typed_in(path: Path) -> None:
    for target in build_files.targets(path):
        assert target.rule != "glob"
        assert not {"copts", "linkopts", "includes"} & set(target.values), target.name
        assert target.rule not in {"cc_library", "cc_test", "py_test", "cc_binary"}, target.name


@pytest.mark.parametrize("path", PACKAGES, ids=NAMES)
def test_rules_are_loaded_from_the_one_path(path: Path) -> None:
    text = path.read_text()
    for loaded in re.findall(r'load\(\s*"([^"]+)"', text):
        assert loaded.startswith(("//tools/bazel:defs.bzl", "@bazel_skylib//", ":")), loaded


def bazel_sources() -> list[str]:
    """Every .cpp that a target under deep_gemm/ compiles into the extension."""
    return sorted(
        f"{package}/{source}"
        for package, target in build_files.all_targets(ROOT)
        if package.split("/")[0] == "deep_gemm"
        for source in target.values.get("srcs", [])
        if source.endswith(".cpp")
    )


def test_bazel_and_setuptools_build_the_same_sources() -> None:
    sys.path.insert(0, str(ROOT))
    import setup

    assert bazel_sources() == setup.extension_sources()


def test_no_source_is_compiled_into_two_targets() -> None:
    assert [name for name, count in Counter(bazel_sources()).items() if count > 1] == []


def test_the_include_folders_of_setuptools_are_those_of_the_house() -> None:
    sys.path.insert(0, str(ROOT))
    import setup

    houses = {path.parent.name for path in ROOT.glob("*/include")}
    listed = {Path(folder).parts[0] for folder in setup.INCLUDE_DIRS if folder != "."}
    assert houses <= listed


def test_every_header_is_in_a_target() -> None:
    listed = {
        f"{package}/{name}"
        for package, target in build_files.all_targets(ROOT)
        for kind in ("hdrs", "srcs")
        for name in target.values.get(kind, [])
    }
    on_disk = {
        path.relative_to(ROOT).as_posix()
        for house in ROOT.glob("*/include")
        for path in tree.files(house)
        if path.name != "BUILD.bazel"
    }
    assert on_disk - listed == set()


def test_a_build_file_is_read_as_data(tmp_path: Path) -> None:
    path = tmp_path / "BUILD.bazel"
    path.write_text(
        'package(default_visibility = ["//visibility:private"])\n'
        'dj_cc_library(name = "a", srcs = ["a.cpp"] + select({"//c:d": ["b.cpp"]}))\n'
    )
    package, library = build_files.targets(path)
    assert package.rule == "package"
    assert (library.name, library.values["srcs"]) == ("a", ["a.cpp", "b.cpp"])


def test_bazels_wheel_declares_every_file_that_setuptools_ships() -> None:
    """The cheap half of tests/packaging: names alone, without building anything."""
    kinds = {"deep_gemm", "helpers", "package_files", "headers", "kernel_sources"}
    declared = {
        f"{package}/{name}"
        for package, target in build_files.all_targets(ROOT)
        if target.name in kinds and package.split("/")[0] in HOUSES
        for kind in ("srcs", "hdrs", "data")
        for name in target.values.get(kind, [])
        if not name.startswith((":", "//"))
    }
    shipped = {
        path.relative_to(ROOT).as_posix()
        for house in HOUSES
        for path in tree.files(ROOT / house / ("" if house == "deep_gemm" else "include"))
        if path.name not in {"BUILD.bazel", "README.md"}
    }
    shipped = {name for name in shipped if not name.startswith("deep_gemm/csrc/")}
    assert sorted(shipped ^ declared) == []


def test_every_test_file_is_run_by_a_target() -> None:
    run = {
        f"{package}/{source}"
        for package, target in build_files.all_targets(ROOT)
        for source in target.values.get("srcs", [])
    }
    # Workspaces and packages of consumers have build files of their own.
    files = [
        path.relative_to(ROOT).as_posix()
        for path in tree.files(ROOT / "tests")
        if (path.name.startswith("test_") and path.suffix == ".py") or path.stem.endswith("_test")
    ]
    assert len(files) > 100
    assert [name for name in files if name not in run] == []


def test_every_committed_output_is_data_of_some_test() -> None:
    folder = ROOT / "tests/golden"
    text = (folder / "BUILD.bazel").read_text()
    files = [path.relative_to(folder).as_posix() for path in tree.files(folder)]
    assert [name for name in files if name != "BUILD.bazel" and f'"{name}"' not in text] == []
