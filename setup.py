"""Builds the wheel with setuptools alone: the extension from csrc/, kernels and DeepJIT's headers.

    pip install .                        # or: pip wheel --no-build-isolation .
    python setup.py build_ext --inplace  # the extension beside deep_gemm/__init__.py

The wheel is tagged cp310-abi3 and works with every CPython >= 3.10 and torch >= 2.10: the
extension uses torch's stable ABI and no Python.h. Two builds give the same bytes. Bazel builds the
same sources and runs this file for //tools/packaging:wheel, with its own extension; tests compare
the two. Environment: CXX, CXXFLAGS, MAX_JOBS, CUDA_HOME (for cuda.h), SOURCE_DATE_EPOCH,
DG_PREBUILT_EXTENSION (a file to take instead of compiling).
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

# Not resolved: Bazel lays links to the sources side by side.
ROOT = Path(__file__).absolute().parent

INCLUDE_DIRS = [
    ".",
    "backends_ascend/include",
    "backends_cuda/include",
    "backends_host/include",
    "deep_gemm/include",
    "deepjit_core/include",
]
FLAGS = ["-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden"]
# What one can embed the JIT with: shipped below include/, beside the kernels.
SHIPPED_HEADERS = [
    "backends_ascend/include",
    "backends_cuda/include",
    "backends_host/include",
    "deepjit_core/include",
]
# Zip files know no earlier time; a fixed one makes two builds equal.
os.environ.setdefault("SOURCE_DATE_EPOCH", "315532800")


def extension_sources() -> list[str]:
    """Every source of the extension, relative to the repository."""
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("deep_gemm/csrc/**/*.cpp"))


def platform_tag(library: Path) -> str:
    """What tools/packaging/platform_tag.py says of the extension."""
    # By its file: any installed package may be called tools.
    path = ROOT / "tools/packaging/platform_tag.py"
    spec = importlib.util.spec_from_file_location("platform_tag", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is missing")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.platform_tag(library)


def torch_target_version() -> str:
    """The literal of tools/bazel/torch_target.bzl, the one place where it stands."""
    text = (ROOT / "tools/bazel/torch_target.bzl").read_text()
    found = re.search(r'^TORCH_TARGET_VERSION_CUDA = "(\w+)"', text, re.MULTILINE)
    if not found:
        raise SystemExit("tools/bazel/torch_target.bzl does not set TORCH_TARGET_VERSION_CUDA")
    return found[1]


def torch_folder() -> Path:
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        raise SystemExit("torch is needed to build: pip install torch, then --no-build-isolation")
    return Path(found.origin).parent


def cuda_header_folder() -> Path:
    """The folder of cuda.h: declarations to compile against; no CUDA library is linked."""
    folders = [
        Path(root, "include") for root in map(os.environ.get, ("CUDA_HOME", "CUDA_PATH")) if root
    ]
    found = importlib.util.find_spec("nvidia")
    for site in (found.submodule_search_locations or []) if found else []:
        folders += sorted(Path(site).glob("*/include"), reverse=True)
    folders.append(Path("/usr/local/cuda/include"))
    for folder in folders:
        if (folder / "cuda.h").is_file():
            return folder
    raise SystemExit(
        "cuda.h is needed to build, and no toolkit: pip install nvidia-cuda-runtime, or name a"
        " toolkit in CUDA_HOME"
    )


class BuildExtension(build_ext):
    """Compiles the sources side by side; links against libtorch_cpu.so alone."""

    def get_ext_filename(self, fullname: str) -> str:
        return str(Path(*fullname.split("."))) + ".abi3.so"

    def build_extension(self, ext: Extension) -> None:
        if prebuilt := os.environ.get("DG_PREBUILT_EXTENSION"):
            target = Path(self.get_ext_fullpath(ext.name))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(prebuilt, target)
            target.chmod(0o755)
            return
        torch = torch_folder()
        compiler = os.environ.get("CXX", "g++")
        defines = ["-DDJ_DISABLE_GIL=1", f"-DTORCH_TARGET_VERSION={torch_target_version()}"]
        includes = [f"-I{folder}" for folder in INCLUDE_DIRS if (ROOT / folder).is_dir()]
        # Messages name sources by their path from here, wherever here is.
        includes += [f"-ffile-prefix-map={ROOT}/=", f"-ffile-prefix-map={torch.parent}/="]
        command = [compiler, *FLAGS, *os.environ.get("CXXFLAGS", "").split(), *defines, *includes]
        for folder in (torch / "include", cuda_header_folder()):
            command += ["-isystem", str(folder)]
        objects = [Path(self.build_temp, source).with_suffix(".o") for source in ext.sources]

        def compile_one(source: str, target: Path) -> None:
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([*command, "-c", source, "-o", str(target)], check=True)

        jobs = int(os.environ.get("MAX_JOBS", os.cpu_count() or 1))
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(compile_one, ext.sources, objects))
        target = Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        link = [compiler, "-shared", "-o", str(target), *map(str, objects)]
        library = torch / "lib/libtorch_cpu.so"
        link += ["-Wl,--no-as-needed", str(library), "-Wl,--as-needed", "-ldl", "-lpthread"]
        subprocess.run(link, check=True)


class BuildPython(build_py):
    """The package, and DeepJIT's headers merged into its include folder."""

    def run(self) -> None:
        if not self.editable_mode:
            # What an earlier build left there would go into the wheel.
            shutil.rmtree(Path(self.build_lib, "deep_gemm"), ignore_errors=True)
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib, "deep_gemm/include")
        for folder in SHIPPED_HEADERS:
            if (ROOT / folder).is_dir():
                shutil.copytree(ROOT / folder, target, dirs_exist_ok=True)


class BdistWheel(bdist_wheel):
    """One wheel for every CPython: the extension has no Python in it."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> tuple[str, str, str]:
        return "cp310", "abi3", self._platform()

    def _platform(self) -> str:
        # Asked for before anything is built, too, by tools that only want a name.
        built = sorted(Path(self.bdist_dir or ".").glob("**/*.abi3.so"))
        return platform_tag(built[0]) if built else super().get_tag()[2]


if __name__ == "__main__":
    os.chdir(ROOT)
    setup(
        ext_modules=[Extension("deep_gemm._C_extension", extension_sources(), py_limited_api=True)],
        cmdclass={"build_ext": BuildExtension, "bdist_wheel": BdistWheel, "build_py": BuildPython},
    )
