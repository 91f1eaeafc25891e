"""Genuine device binaries of CANN's compiler, as wheels ship them: what the reader finds in each is
what the JSON beside it says. ASCEND_KERNELS names a folder of them where Bazel has not fetched any.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import ascend_build

# As CANN's JSON calls what acl_rt.h has numbers for.
MAGICS = {
    "RT_DEV_BINARY_MAGIC_ELF": 0x43554245,
    "RT_DEV_BINARY_MAGIC_ELF_AIVEC": 0x41415246,
    "RT_DEV_BINARY_MAGIC_ELF_AICUBE": 0x41494343,
}


@functools.cache
def binaries() -> list[tuple[Path, dict]]:
    folders = [Path("../ascend_kernels/files"), Path("../ascend_kernels_large/files")]
    if named := os.environ.get("ASCEND_KERNELS"):
        folders.append(Path(named))
    files = sorted({path for folder in folders for path in folder.rglob("*.o")})
    found = [(path, json.loads(path.with_suffix(".json").read_text())) for path in files]
    if not found:
        pytest.skip("not fetched: device binaries; unpack ops-rec and set ASCEND_KERNELS")
    return found


@functools.cache
def lister() -> Path:
    built = Path("tests/backends_ascend/list_kernels").absolute()
    if built.exists():
        return built
    out = Path(ascend_build.tempfile.mkdtemp(prefix="list_kernels_")) / "list_kernels"
    source = ascend_build.ROOT / "tests/backends_ascend/list_kernels.cpp"
    return ascend_build.compile_program(out, [source])


def listed(*flags: str, **variables: str) -> list[tuple[int, list[str]]]:
    """(magic, names) of every binary, in order."""
    command = [str(lister()), *flags, *(str(path) for path, _ in binaries())]
    done = subprocess.run(
        command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-4000:]
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return [(int(magic, 16), names.split(", ")) for magic, names in rows]


def test_every_file_is_whole_by_the_digest_in_its_json() -> None:
    for path, told in binaries():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == told["sha256"], path


def test_names_found_are_those_of_the_json_in_every_file() -> None:
    right = 0
    for (path, told), (_, names) in zip(binaries(), listed(), strict=True):
        wanted = sorted(kernel["kernelName"] for kernel in told["kernelList"])
        assert sorted(names) == wanted, path
        right += 1
    print(f"\nELF fixtures parsed: {right} of {len(binaries())}, names equal to the JSON")
    assert right == len(binaries())


def test_the_magic_that_the_runtime_is_told_is_the_jsons() -> None:
    for (path, told), (magic, _) in zip(binaries(), listed(), strict=True):
        assert magic == MAGICS[told["magic"]], path


def test_every_file_loads_through_the_simulated_runtime(tmp_path: Path) -> None:
    toolkit = ascend_build.lay_out_toolkit(tmp_path / "cann")
    assert len(listed("--load", ASCEND_HOME_PATH=str(toolkit))) == len(binaries())
