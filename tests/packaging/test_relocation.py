"""A cache goes where the package goes: other environments and homes, machines without compiler."""

from __future__ import annotations

import json
import shutil
import subprocess
import venv
import zipfile
from pathlib import Path

import pytest

import deep_gemm
from tests.packaging import wheels
from tests.support.nvrtc import nvrtc_or_skip

# One of each family, on the CPU; the sums tell results apart.
USE = """
import json, torch, deep_gemm
torch.manual_seed(0)
x, w = torch.randn(9, 256).bfloat16(), torch.randn(40, 256).bfloat16()
d = torch.empty(9, 40)
sums = []
deep_gemm.bf16_gemm_nt(x, w, d)
sums.append(d.double().sum().item())
a = deep_gemm.per_token_cast_to_fp8(x, use_ue8m0=False)
b = deep_gemm.per_block_cast_to_fp8(w, use_ue8m0=False)
deep_gemm.fp8_gemm_nt(a, b, d)
sums.append(d.double().sum().item())
labels = torch.zeros(9, dtype=torch.int32)
deep_gemm.m_grouped_bf16_gemm_nt_contiguous(x, w[None].contiguous(), d, labels)
sums.append(d.double().sum().item())
squares = torch.empty(9)
deep_gemm.tf32_hc_prenorm_gemm(x, w.float(), d, squares)
sums.append(squares.double().sum().item())
schedule = deep_gemm.get_paged_mqa_logits_metadata(torch.full((2, 1), 70, dtype=torch.int32), 64, 4)
sums.append(schedule.double().sum().item())
print(json.dumps({"sums": sums, **deep_gemm.counters()}))
"""
NUM_KERNELS = 5


class Environment:
    """A virtual environment with the wheel in it and torch beside it."""

    def __init__(self, folder: Path, wheel: Path, torch_site: Path) -> None:
        venv.EnvBuilder(symlinks=True).create(folder)
        self.python = folder / "bin/python"
        self.site = next(folder.glob("lib/python*/site-packages"))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self.site)
        (self.site / "torch.pth").write_text(f"{torch_site}\n")

    def run(self, *arguments: str, **variables: str) -> str:
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", **variables}
        done = subprocess.run(
            [str(self.python), *arguments],
            env=environment, cwd=self.site.parent, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout

    def use(self, **variables: str) -> dict:
        return json.loads(self.run("-c", USE, **variables))


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> tuple[Environment, Environment]:
    folder = tmp_path_factory.mktemp("environments")
    wheel = wheels.wheel(folder)
    first = Environment(folder / "first", wheel, wheels.torch_site())
    # As it were another machine: no compiler for GPUs is beside torch.
    bare = wheels.torch_site_without_compilers(folder)
    return first, Environment(folder / "far away/second one", wheel, bare)


NO_COMPILER = {"PATH": "/nowhere", "DG_JIT_HOST_COMPILER": "/nowhere/g++", "DG_JIT_MODE": "forbid"}


def test_the_second_environment_compiles_nothing(
    environments: tuple[Environment, Environment], tmp_path: Path
) -> None:
    first, second = (
        one.use(DG_JIT_CACHE_DIR=str(tmp_path / "shared"), HOME=str(tmp_path / name))
        for name, one in zip(("home", "other home"), environments, strict=True)
    )
    assert first["compiles"] == NUM_KERNELS and first["disk_hits"] == 0
    assert second["compiles"] == 0 and second["disk_hits"] == second["loads"] == NUM_KERNELS
    assert first["sums"] == second["sums"]


@pytest.mark.parametrize("way", ["unpacked", "moved", "read-only layer"])
def test_a_cache_serves_a_machine_without_compiler_under_forbid(
    environments: tuple[Environment, Environment], tmp_path: Path, way: str
) -> None:
    maker, user = environments
    made = maker.use(HOME=str(tmp_path / "maker"), DG_JIT_CACHE_DIR=str(tmp_path / "made"))
    home = tmp_path / "somebody else"
    variables = {**NO_COMPILER, "HOME": str(home)}
    if way == "unpacked":
        pack = str(tmp_path / "kernels.pack")
        maker.run("-m", "deep_gemm", "cache", "pack", pack, DG_JIT_CACHE_DIR=str(tmp_path / "made"))
        shutil.rmtree(tmp_path / "made")
        user.run("-m", "deep_gemm", "cache", "unpack", pack, **variables)
    elif way == "moved":
        home.mkdir()
        shutil.move(tmp_path / "made", home / ".dj")
    else:
        variables["DG_JIT_CACHE_DIR"] = f"{home / 'own'}:{tmp_path / 'made'}"
    used = user.use(**variables)
    assert used["compiles"] == 0 and used["disk_hits"] == NUM_KERNELS
    assert used["sums"] == made["sums"]


def test_kernels_of_gpus_go_the_same_way(
    environments: tuple[Environment, Environment], tmp_path: Path
) -> None:
    nvrtc_or_skip()
    maker, user = environments
    ask = """
import json, deep_gemm
answer = deep_gemm.precompile("fp8_mqa_logits", heads=32, head_dim=64, arch="90a")
print(json.dumps([answer["compiled"], [row["cached"] for row in answer["kernels"]]]))
"""
    library = Path(deep_gemm.doctor()["cuda"]["nvrtc"]["path"]).absolute()
    made = {"DG_JIT_CACHE_DIR": str(tmp_path / "made"), "DG_JIT_NVRTC_LIBRARY": str(library)}
    assert json.loads(maker.run("-c", ask, **made)) == [2, [False, False]]
    pack = str(tmp_path / "gpu kernels.pack")
    maker.run("-m", "deep_gemm", "cache", "pack", pack, **made)
    variables = {**NO_COMPILER, "HOME": str(tmp_path / "home")}
    user.run("-m", "deep_gemm", "cache", "unpack", pack, **variables)
    assert json.loads(user.run("-c", ask, **variables)) == [0, [True, True]]
