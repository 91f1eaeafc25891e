"""The wheel that the packaging tests look at.

    with zipfile.ZipFile(wheel(tmp)) as archive: ...

Under Bazel it is the one of //tools/packaging that the test has among its data; under plain pytest
setuptools builds it from the checkout, around the extension that lies in it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools.checks import tree
from tools.packaging import build_wheel

__all__ = [
    "built_from_checkout",
    "extension",
    "run_python",
    "torch_site",
    "torch_site_without_compilers",
    "unpacked",
    "wheel",
]


def _runfile(path: str) -> Path | None:
    try:
        from runfiles import Runfiles
    except ImportError:
        return None
    runfiles = Runfiles.Create()
    found = runfiles.Rlocation(f"deepgemm/{path}") if runfiles else None
    return Path(found) if found and Path(found).exists() else None


def extension() -> Path:
    """The compiled extension."""
    path = _runfile("deep_gemm/_C_extension.abi3.so")
    path = path or tree.root() / "deep_gemm/_C_extension.abi3.so"
    if not path.is_file():
        pytest.skip("not fetched: the extension is not built: python setup.py build_ext --inplace")
    return path


def built_from_checkout(folder: Path) -> Path:
    """What `pip wheel .` makes of the checkout, with the extension at hand instead of a compile."""
    names = build_wheel_files(tree.root(), folder / "checkout")
    name = build_wheel.build(names, str(extension()), folder / "out", root=folder / "checkout")
    return folder / "out" / name


def build_wheel_files(root: Path, copy: Path) -> list[str]:
    """Copies every file of the checkout that is the product's; their names."""
    names = []
    for path in tree.files(root):
        relative = path.relative_to(root)
        if relative.parts[0] in {"tests", "bench", "docs"}:
            continue
        target = copy / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        names.append(relative.as_posix())
    return names


def wheel(folder: Path) -> Path:
    """Path of the wheel under test; `folder` is scratch."""
    built = _runfile("tools/packaging/wheel_for_tests") or _runfile("tools/packaging/wheel")
    return next(built.glob("*.whl")) if built else built_from_checkout(folder)


def unpacked(folder: Path, name: str = "site") -> Path:
    """The wheel unzipped, as an installer does it; the folder to put on sys.path."""
    site = folder / name
    with zipfile.ZipFile(wheel(folder)) as archive:
        archive.extractall(site)
    return site


def torch_site() -> Path:
    """The folder that has torch in it."""
    import torch

    return Path(torch.__file__).parents[1]


def torch_site_without_compilers(folder: Path) -> Path:
    """Links to what lies beside torch, CUDA's compilers from the package index left out.

    Torch itself where it needs those libraries: a test then asks for JIT_MODE=forbid alone.
    """
    import torch

    if torch.version.cuda is not None:
        return torch_site()
    farm = folder / "no compilers"
    farm.mkdir()
    for path in torch_site().iterdir():
        if path.name != "nvidia":
            (farm / path.name).symlink_to(path)
    return farm


def run_python(
    site: Path, code: str, beside: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """`code` in a fresh process that sees `site`, torch (`beside`) and nothing else of ours."""
    import os

    where_torch_is = str(beside or torch_site())
    environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(site.parent)}
    environment |= {"PYTHONPATH": os.pathsep.join([str(site), where_torch_is]), **variables}
    command = [sys.executable, "-c", code]
    # Elsewhere than in the checkout, which would come first on the path.
    return subprocess.run(command, env=environment, cwd=site.parent, capture_output=True, text=True)
