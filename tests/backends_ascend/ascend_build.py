"""What the Python tests of the Ascend back end need built: by Bazel, or here by the machine's g++.

    toolkit = ascend_build.lay_out_toolkit(tmp_path / "cann")     # a simulated CANN
    library = ascend_build.build_npu_kernel_set(tmp_path)

By hand, ASCEND_HEADERS names the folder above acl/ (tools/toolchains/ascend/README.md).
"""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from runfiles import Runfiles

ROOT = Path(__file__).resolve().parents[2]
CXX = os.environ.get("CXX") or shutil.which("g++") or "clang++"
INCLUDES = [f"-I{ROOT}"] + [
    f"-I{ROOT / folder / 'include'}"
    for folder in ("deepjit_core", "backends_ascend", "backends_host", "backends_cuda", "deep_gemm")
]
FLAGS = ["-std=c++20", "-O1", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden"]
SIMULATOR = "tests/backends_ascend/simulator"


@functools.cache
def acl_headers() -> Path:
    """The folder above acl/; skips, saying how to get it, where there is none."""
    runfiles = Runfiles.Create()
    listing = runfiles.Rlocation("ascend_headers/include.txt") if runfiles else None
    if listing and Path(listing).exists():
        return Path(Path(listing).read_text().splitlines()[0])
    for name in (os.environ.get("ASCEND_HEADERS"), os.environ.get("ASCEND_HOME_PATH")):
        for folder in (Path(name), Path(name) / "include") if name else ():
            if (folder / "acl/acl_rt.h").exists():
                return folder
    pytest.skip(
        "not fetched: ACL headers; set ASCEND_HEADERS, see tools/toolchains/ascend/README.md"
    )


def cuda_headers() -> Path:
    """The folder of cuda.h, of Bazel or of pip's packages; skips where there is none."""
    runfiles = Runfiles.Create()
    listing = runfiles.Rlocation("cuda_headers/include.txt") if runfiles else None
    if listing and Path(listing).exists():
        return Path(Path(listing).read_text().splitlines()[0])
    site = torch_folder().parent
    for folder in (site / "nvidia/cu13/include", Path("/usr/local/cuda/include")):
        if (folder / "cuda.h").exists():
            return folder
    pytest.skip("not fetched: cuda.h; pip install nvidia-cuda-runtime")


def torch_folder() -> Path:
    found = importlib.util.find_spec("torch")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent


def compile_shared(
    out: Path, sources: list[Path], flags: tuple[str, ...] = (), libraries: tuple[str, ...] = ()
) -> Path:
    command = [CXX, *FLAGS, "-shared", *INCLUDES, "-isystem", str(acl_headers()), *flags]
    command += [*map(str, sources), "-o", str(out), *libraries, "-ldl", "-lpthread"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-6000:]
    return out


@functools.cache
def simulator_dir() -> Path:
    """The parts that tests/backends_ascend/simulator/BUILD.bazel names."""
    built = Path(os.environ.get("ASCEND_SIM_DIR", SIMULATOR)).absolute()
    if (built / "bisheng").exists():
        return built
    out = Path(tempfile.mkdtemp(prefix="ascend_sim_"))
    source = ROOT / SIMULATOR
    for name, file in (("bisheng", "bisheng.cpp"), ("ld.lld", "ld_lld.cpp")):
        command = [CXX, *FLAGS, *INCLUDES, str(source / file), "-o", str(out / name)]
        subprocess.run(command, check=True)
    compile_shared(out / "libacl_rtc.so", [source / "aclrtc.cpp"])
    compile_shared(out / "libascendcl.so", sorted(source.glob("acl_*.cpp")))
    (out / "toolkit").symlink_to(source / "toolkit")
    return out


def lay_out_toolkit(root: Path) -> Path:
    """The layout of an installed CANN, by links to the simulator's parts."""
    parts, half = simulator_dir(), f"{platform.machine()}-linux"
    for part, place in (
        ("bisheng", "bin/bisheng"),
        ("ld.lld", "bin/ld.lld"),
        ("libascendcl.so", "lib64/libascendcl.so"),
        ("libacl_rtc.so", "lib64/libacl_rtc.so"),
        ("toolkit/kernel_operator.h", "include/kernel_operator.h"),
        ("toolkit/sim_tensors.h", "include/sim_tensors.h"),
        ("toolkit/adv_api_sim.h", f"{half}/asc/include/adv_api/adv_api_sim.h"),
    ):
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).symlink_to((parts / part).resolve())
    (root / half / "ascend_toolkit_install.info").write_text("version=9.0.0\n")
    return root


def target_version(back_end: str) -> str:
    """The literal of tools/bazel/torch_target.bzl, the one place where it stands."""
    text = (ROOT / "tools/bazel/torch_target.bzl").read_text()
    found = re.search(rf'^TORCH_TARGET_VERSION_{back_end} = "(\w+)"', text, re.MULTILINE)
    assert found is not None
    return found[1]


def compile_with_torch(out: Path, sources: list[Path], *flags: str) -> Path:
    torch = torch_folder()
    for folder in ("include", "include/torch/csrc/api/include"):
        flags += ("-isystem", str(torch / folder))
    libraries = ("-Wl,--no-as-needed", f"-L{torch / 'lib'}", "-ltorch_cpu", "-lc10")
    return compile_shared(out, sources, flags, libraries)


def build_fake_npu(folder: Path) -> Path:
    source = ROOT / "tests/backends_ascend/fake_npu.cpp"
    return compile_with_torch(folder / "fake_npu.so", [source], "-O0", "-w")


def build_npu_kernel_set(folder: Path) -> Path:
    """The example of backends_ascend/examples/npu_kernel_set, as Bazel built it or built here."""
    built = Path("backends_ascend/examples/npu_kernel_set/npu_kernel_set.abi3.so").absolute()
    if built.exists():
        return built
    example = ROOT / "backends_ascend/examples/npu_kernel_set"
    utils = ROOT / "deep_gemm/csrc/utils"
    sources = [example / "scaled_add.cpp", example / "schemas.cpp"]
    sources += [utils / "registry.cpp", utils / "state.cpp"]
    target = f"-DTORCH_TARGET_VERSION={target_version('CUDA')}"
    out = folder / "npu_kernel_set.abi3.so"
    return compile_with_torch(out, sources, "-DDJ_DISABLE_GIL=1", target)


def build_three_back_ends(folder: Path) -> Path:
    source = ROOT / "tests/backends_ascend/three_back_ends.cpp"
    target = f"-DTORCH_TARGET_VERSION={target_version('ASCEND')}"
    flags = (target, "-O0", "-isystem", str(cuda_headers()))
    return compile_with_torch(folder / "three_back_ends.so", [source], *flags)


def compile_program(out: Path, sources: list[Path]) -> Path:
    command = [CXX, *FLAGS, *INCLUDES, "-isystem", str(acl_headers()), *map(str, sources)]
    subprocess.run([*command, "-o", str(out), "-ldl", "-lpthread"], check=True)
    return out
