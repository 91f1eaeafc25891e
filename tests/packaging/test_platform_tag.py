"""The platform tag is read from symbol versions alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.packaging import wheels
from tools.packaging import build_wheel, platform_tag


@pytest.mark.parametrize(
    ("versions", "tag"),
    [
        ({"GLIBC_2.17", "GLIBCXX_3.4.19"}, "manylinux_2_17"),
        ({"GLIBC_2.17", "GLIBCXX_3.4.21"}, "manylinux_2_24"),
        ({"GLIBC_2.34", "GLIBCXX_3.4.29", "CXXABI_1.3.13"}, "manylinux_2_34"),
        ({"GLIBC_2.34", "GLIBCXX_3.4.30"}, "manylinux_2_35"),
        ({"GLIBC_2.2.5"}, "manylinux_2_17"),
        ({"GLIBC_2.99"}, "linux"),
    ],
)
def test_the_oldest_policy_that_has_all_versions_is_taken(
    versions: set[str], tag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform_tag, "needed_versions", lambda library: versions)
    assert platform_tag.platform_tag(Path("x")).rpartition("_x86_64")[0] in (tag, "")
    assert platform_tag.platform_tag(Path("x")).startswith(f"{tag}_")


def test_versions_are_those_that_readelf_sees() -> None:
    library = wheels.extension()
    done = subprocess.run(
        ["readelf", "--wide", "--version-info", str(library)], capture_output=True, text=True
    )
    seen = {
        line.split("Name: ")[1].split()[0]
        for line in done.stdout.splitlines()
        if "Name: " in line and "Flags: BASE" not in line  # the library's own name
    }
    assert platform_tag.needed_versions(library) == seen


def test_what_is_no_library_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("text")
    with pytest.raises(ValueError, match="no 64-bit"):
        platform_tag.needed_versions(tmp_path / "x")


def test_generated_and_external_files_get_their_place_in_the_repository() -> None:
    place = build_wheel.place_of
    assert place("deep_gemm/_C.py") == "deep_gemm/_C.py"
    assert place("bazel-out/k8-fastbuild/bin/deep_gemm/a.pyi") == "deep_gemm/a.pyi"
    assert place("external/deepgemm/setup.py") == "setup.py"
