"""Writes DeepJIT's headers and its CMake package into one folder, as an archive would hold them.

    python tools/packaging/header_tree.py DESTINATION

    DESTINATION/include/deep_jit/...             core and back ends, merged
    DESTINATION/lib/cmake/DeepJIT/*.cmake        for find_package(DeepJIT), see docs/consumers.md

Left to others: the wheel (setup.py) and Bazel consumers (tools/bazel/deps.bzl).
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("deepjit_core", "backends_host", "backends_cuda", "backends_ascend")
CMAKE_FILES = ("DeepJITConfig.cmake", "DeepJITConfigVersion.cmake")


def headers() -> Iterator[tuple[Path, Path]]:
    """(file, its path below `include/`) of every public header."""
    for package in PACKAGES:
        folder = ROOT / package / "include"
        for path in sorted(folder.rglob("*")):
            if path.suffix in {".h", ".hpp"}:
                yield path, path.relative_to(folder)


def torch_targets() -> dict[str, str]:
    """The versions of tools/bazel/torch_target.bzl, the one place of these literals."""
    text = (ROOT / "tools/bazel/torch_target.bzl").read_text()
    return dict(re.findall(r'^(TORCH_TARGET_VERSION_\w+) = "(\w+)"', text, re.MULTILINE))


def version() -> str:
    found = re.search(r'__version__ = "([\d.]+)', (ROOT / "deep_gemm/_version.py").read_text())
    assert found is not None
    return found[1]


def write_tree(destination: Path) -> None:
    for source, relative in headers():
        target = destination / "include" / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    package = destination / "lib/cmake/DeepJIT"
    package.mkdir(parents=True, exist_ok=True)
    for name in CMAKE_FILES:
        shutil.copyfile(ROOT / "tools/packaging/cmake" / name, package / name)
    (package / "DeepJITVersionNumber.cmake").write_text(f'set(PACKAGE_VERSION "{version()}")\n')
    lines = [f'set(DEEPJIT_{name} "{value}")' for name, value in sorted(torch_targets().items())]
    (package / "DeepJITTorchTargets.cmake").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    write_tree(Path(sys.argv[1]))
