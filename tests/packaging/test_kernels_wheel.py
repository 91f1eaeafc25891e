"""The wheel of kernels: found beside the package, believed, checked, and never written."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import deep_gemm
from tests.packaging import wheels
from tests.support.nvrtc import nvrtc_or_skip
from tools.packaging.build_kernels import PACKAGE

# Two of a head count (tuned and portable), and one that has no sizes.
OPS = ["get_paged_mqa_logits_metadata", "fp8_mqa_logits heads=32 head_dim=128"]
NUM_KERNELS = 3

ASK = """
import json, deep_gemm
kernels = []
for op, sizes in (
    ("get_paged_mqa_logits_metadata", {}), ("fp8_mqa_logits", {"heads": 32, "head_dim": 128}),
):
    kernels += deep_gemm.precompile(op, arch="90a", **sizes, dry_run=DRY)["kernels"]
print(json.dumps({"cached": [kernel["cached"] for kernel in kernels],
                  "counters": deep_gemm.counters()}))
"""
DOCTOR = """
import json, sys, deep_gemm
answer = deep_gemm.doctor()
print(json.dumps({
    "packs": answer["cache"]["packs"], "modules": list(sys.modules),
    "compilers": [answer["cuda"][tool]["found"] for tool in ("nvrtc", "nvcc")],
}))
"""


def run_builder(out: Path, *ops: str) -> Path:
    command = [sys.executable, "-m", "tools.packaging.build_kernels", "--out", str(out)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([*command, "--op", *ops], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    nvrtc_or_skip()
    return run_builder(tmp_path_factory.mktemp("kernels"), *OPS)


class Machine:
    """Package and kernels installed together; no compiler, and a home where nothing is yet."""

    def __init__(self, folder: Path, installed: Path) -> None:
        self.site = folder / "site"
        shutil.copytree(installed, self.site)
        self.pack = self.site / PACKAGE
        self.layer = self.pack / "layer"
        for path in [self.pack, *self.pack.rglob("*")]:
            path.chmod(path.stat().st_mode & ~0o022)
        self.home = folder / "home"
        self.home.mkdir()
        self._beside = wheels.torch_site_without_compilers(folder)

    def run(self, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {"HOME": str(self.home), "PATH": str(self.home), "DG_JIT_MODE": "forbid"}
        done = wheels.run_python(self.site, code, self._beside, **(environment | variables))
        assert done.returncode == 0, done.stderr[-4000:]
        return done

    def ask(self, *, dry: bool = True, **variables: str) -> dict:
        return json.loads(self.run(ASK.replace("DRY", str(dry)), **variables).stdout)

    def doctor(self, **variables: str) -> dict:
        return json.loads(self.run(DOCTOR, **variables).stdout)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, kernels: Path) -> Path:
    site = wheels.unpacked(tmp_path_factory.mktemp("installed"))
    with zipfile.ZipFile(kernels) as archive:
        archive.extractall(site)
    return site


@pytest.fixture
def machine(tmp_path: Path, installed: Path) -> Machine:
    return Machine(tmp_path, installed)


def test_record_and_size_are_what_an_installer_wants(kernels: Path) -> None:
    with zipfile.ZipFile(kernels) as archive:
        (record,) = [name for name in archive.namelist() if name.endswith("dist-info/RECORD")]
        rows = list(csv.reader(archive.read(record).decode().splitlines()))
        assert sorted(row[0] for row in rows) == sorted(archive.namelist())
        for name, digest, size in rows:
            if name == record:
                continue
            data = archive.read(name)
            wanted = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
            assert digest == f"sha256={wanted.decode()}" and int(size) == len(data), name
        assert {name.split("/")[0] for name in archive.namelist()} == {
            PACKAGE, record.split("/")[0],
        }  # fmt: skip
    assert kernels.name == f"{PACKAGE}-{deep_gemm.__version__}-py3-none-any.whl"


def test_it_names_no_folder_of_the_machine_that_made_it(kernels: Path) -> None:
    with zipfile.ZipFile(kernels) as archive:
        manifests = [name for name in archive.namelist() if name.endswith("/manifest")]
        assert len(manifests) == NUM_KERNELS
        for name in manifests:
            text = archive.read(name).decode()
            assert "-I" not in text and " -arch=sm_90a" in text, text
            assert " kernel.cu" in text and "compile.log" not in text, text


@pytest.mark.usefixtures("kernels")
def test_two_builds_have_the_same_bytes(tmp_path: Path) -> None:
    first, second = (run_builder(tmp_path / name, OPS[0]) for name in ("a", "b b"))
    assert first.read_bytes() == second.read_bytes()


def test_a_machine_without_a_compiler_finds_every_kernel(machine: Machine) -> None:
    before = sorted(path.relative_to(machine.site) for path in machine.pack.rglob("*"))
    answer = machine.ask(dry=False)
    assert answer["cached"] == [True] * NUM_KERNELS
    assert answer["counters"]["disk_hits"] == NUM_KERNELS
    assert answer["counters"]["compiles"] == 0
    assert sorted(path.relative_to(machine.site) for path in machine.pack.rglob("*")) == before
    assert list(machine.home.iterdir()) == []


def test_it_goes_into_no_pack_unless_it_is_asked_for(machine: Machine) -> None:
    file = machine.home / "all.pack"
    code = f"""
import json, deep_gemm
from deep_gemm import _ops
(kernel,) = deep_gemm.precompile("get_paged_mqa_logits_metadata", arch="90a")["kernels"]
packed = [_ops.query("cache_pack", file={str(file)!r}, requests=digest)["packed"]
          for digest in (None, kernel["request"])]
print(json.dumps(packed))
"""
    assert json.loads(machine.run(code).stdout) == [0, 1]


def test_a_kernel_that_is_not_in_it_is_refused_by_forbid(machine: Machine) -> None:
    machine.run(
        "import deep_gemm\n"
        "try:\n"
        "    deep_gemm.precompile('fp8_mqa_logits', heads=16, head_dim=64, arch='90a')\n"
        "except deep_gemm.errors.Toolchain as error:\n"
        "    assert 'forbid compiles nothing' in str(error), error\n"
        "else:\n"
        "    raise AssertionError('not refused')\n"
    )


def test_doctor_says_what_the_pack_holds(machine: Machine) -> None:
    answer = machine.doctor()
    (pack,) = answer["packs"]
    assert pack["found"] and pack["is_on"] and pack["reason"] == "" == pack["fix"]
    assert (pack["entries"], pack["usable"], pack["damaged"]) == (NUM_KERNELS, NUM_KERNELS, 0)
    assert pack["missing"] > 100 and pack["version"] == deep_gemm.__version__
    assert pack["compiler"].startswith("NVRTC ") and PACKAGE not in answer["modules"]
    if not any(Path(place).exists() for place in ("/usr/local/cuda", "/opt/cuda")):
        assert answer["compilers"] == [False, False]
    text = machine.run("from deep_gemm.__main__ import main; main(['doctor'])").stdout
    assert f"{NUM_KERNELS} of {NUM_KERNELS} kernels usable" in text


def test_doctor_says_that_none_is_installed(machine: Machine) -> None:
    shutil.rmtree(machine.pack)
    (pack,) = machine.doctor()["packs"]
    assert not pack["found"] and "not installed" in pack["reason"]
    assert machine.ask()["cached"] == [False] * NUM_KERNELS


def test_it_can_be_switched_off(machine: Machine) -> None:
    assert machine.ask(DG_JIT_SHIPPED_KERNELS="0")["cached"] == [False] * NUM_KERNELS
    (pack,) = machine.doctor(DG_JIT_SHIPPED_KERNELS="0")["packs"]
    assert not pack["is_on"] and "DG_JIT_SHIPPED_KERNELS" in pack["fix"]


def test_a_file_that_was_tampered_with_is_refused_and_reported(machine: Machine) -> None:
    victim = next(machine.layer.glob("packs/*metadata*/kernel.cubin"))
    victim.write_bytes(victim.read_bytes()[:-1] + b"\x55")
    done = machine.run(ASK.replace("DRY", "True"))
    cached = json.loads(done.stdout)["cached"]
    assert cached == [False, True, True]
    assert done.stderr.count("differs from its checksum") == 1, done.stderr
    (pack,) = machine.doctor()["packs"]
    assert pack["damaged"] == 1 and "differs from its checksum" in pack["reason"]
    verify = "from deep_gemm.__main__ import main; assert main(['cache', 'verify']) == 1"
    assert str(victim) in machine.run(verify).stdout
    assert victim.exists(), "an installed file stays where its installer put it"


def test_kernels_of_another_version_do_not_match_and_doctor_says_so(machine: Machine) -> None:
    # Every kernel reaches it.
    header = machine.site / "deep_gemm/include/deep_gemm/ptx/types.cuh"
    header.write_text(header.read_text() + "// changed\n")
    facts = machine.pack / "pack.json"
    facts.write_text(json.dumps({**json.loads(facts.read_text()), "version": "0.0.1"}))
    assert machine.ask()["cached"] == [False] * NUM_KERNELS
    (pack,) = machine.doctor()["packs"]
    assert pack["usable"] == 0 and "other sources" in pack["reason"]
    assert pack["version"] == "0.0.1" and deep_gemm.__version__ in pack["fix"]


def test_a_layer_that_others_can_write_is_refused(machine: Machine) -> None:
    machine.layer.chmod(0o777)
    done = machine.run(ASK.replace("DRY", "True"))
    assert json.loads(done.stdout)["cached"] == [False] * NUM_KERNELS
    assert "can be written by others" in done.stderr
    (pack,) = machine.doctor()["packs"]
    assert "can be written by others" in pack["reason"] and "chmod" in pack["fix"]
