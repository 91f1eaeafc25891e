"""The wheel: the same from Bazel and setuptools, the same twice, small, complete, enough alone."""

from __future__ import annotations

import hashlib
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.packaging import wheels
from tools.checks import tree
from tools.packaging.platform_tag import platform_tag

MAX_BYTES = 5_000_000


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return zipfile.ZipFile(wheels.wheel(tmp_path_factory.mktemp("wheel")))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheels.unpacked(tmp_path_factory.mktemp("installed"))


def digests(archive: zipfile.ZipFile) -> dict[str, str]:
    return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def test_bazel_and_setuptools_put_the_same_files_into_it(
    archive: zipfile.ZipFile, tmp_path: Path
) -> None:
    with zipfile.ZipFile(wheels.built_from_checkout(tmp_path)) as other:
        mine, theirs = digests(archive), digests(other)
    assert sorted(set(mine) ^ set(theirs)) == []
    assert [name for name in mine if mine[name] != theirs[name]] == []
    assert Path(str(archive.filename)).name == Path(str(other.filename)).name


def test_two_builds_have_the_same_hash(tmp_path: Path) -> None:
    first, second = (wheels.built_from_checkout(tmp_path / name) for name in ("a", "b b"))
    assert first.name == second.name
    assert (
        hashlib.sha256(first.read_bytes()).digest() == hashlib.sha256(second.read_bytes()).digest()
    )


def test_it_is_small(archive: zipfile.ZipFile) -> None:
    assert Path(str(archive.filename)).stat().st_size < MAX_BYTES


def test_its_name_carries_the_tag_that_its_symbols_allow(archive: zipfile.ZipFile) -> None:
    name = Path(str(archive.filename)).name
    assert name.endswith(f"-cp310-abi3-{platform_tag(wheels.extension())}.whl")
    (info,) = [name for name in archive.namelist() if name.endswith(".dist-info/WHEEL")]
    assert f"Tag: cp310-abi3-{platform_tag(wheels.extension())}\n" in archive.read(info).decode()


def test_kernels_and_headers_of_the_jit_are_in_it(archive: zipfile.ZipFile) -> None:
    root = tree.root()
    wanted = {"deep_gemm/py.typed", "deep_gemm/_C_extension.abi3.so", "deep_gemm/__main__.py"}
    for house in ("deep_gemm", "deepjit_core", "backends_host", "backends_cuda", "backends_ascend"):
        for header in tree.files(root / house / "include"):
            if header.name != "BUILD.bazel":
                place = header.relative_to(root / house).as_posix()
                wanted.add(f"deep_gemm/{place}")
    assert sorted(wanted - set(archive.namelist())) == []


def test_nothing_else_is_in_it(archive: zipfile.ZipFile) -> None:
    for name in archive.namelist():
        top = name.split("/")[0]
        assert top == "deep_gemm" or top.endswith(".dist-info"), name
        assert not name.endswith((".cpp", ".bazel", ".pyc")), name
        assert "/csrc/" not in name and "/tests/" not in name, name


def test_it_requires_torch_alone(archive: zipfile.ZipFile) -> None:
    (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    lines = archive.read(name).decode().splitlines()
    needs = [line for line in lines if line.startswith("Requires-Dist:") and "extra ==" not in line]
    assert needs == ["Requires-Dist: torch>=2.10"]
    assert "Requires-Python: >=3.10" in lines and "License-Expression: MIT" in lines


def test_unpacked_alone_it_imports_and_multiplies(site: Path, tmp_path: Path) -> None:
    code = """
import torch, deep_gemm
a, b = torch.randn(9, 64).bfloat16(), torch.randn(33, 64).bfloat16()
d = torch.empty(9, 33)
deep_gemm.bf16_gemm_nt(a, b, d)
assert torch.allclose(d, a.float() @ b.float().t(), atol=1e-2)
print(deep_gemm.__file__)
"""
    done = wheels.run_python(site, code, DG_JIT_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.strip() == str(site / "deep_gemm/__init__.py")


def test_two_installations_share_one_cache(site: Path, tmp_path: Path) -> None:
    other = wheels.unpacked(tmp_path, "another place")
    code = """
import torch, deep_gemm
deep_gemm.bf16_gemm_nt(torch.ones(2, 8).bfloat16(), torch.ones(3, 8).bfloat16(), torch.empty(2, 3))
print(int(deep_gemm.counters()["compiles"]))
"""
    cache = str(tmp_path / "cache")
    compiles = []
    for place in (site, other):
        done = wheels.run_python(place, code, DG_JIT_CACHE_DIR=cache)
        assert done.returncode == 0, done.stderr[-4000:]
        compiles.append(done.stdout.strip())
    assert compiles == ["1", "0"]


def test_a_program_embeds_the_jit_with_the_headers_of_the_wheel(site: Path, tmp_path: Path) -> None:
    program = tmp_path / "embeds.cpp"
    program.write_text(
        "#include <deep_jit/backend/host/backend.hpp>\n"
        "int main() {\n"
        '  deep_jit::Runtime<deep_jit::Host> jit(deep_jit::Config("/", "EMBED"));\n'
        '  return jit.cache_key("int x;", {.arch = "x86-64-v2"}).size() == 64 ? 0 : 1;\n'
        "}\n"
    )
    command = [os.environ.get("CXX", "g++"), "-std=c++20", f"-I{site}/deep_gemm/include"]
    command += [str(program), "-o", str(tmp_path / "embeds"), "-ldl", "-lpthread"]
    subprocess.run(command, check=True)
    subprocess.run([str(tmp_path / "embeds")], check=True)
