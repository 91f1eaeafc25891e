"""Runs setup.py on files that Bazel declares, with the extension that Bazel built.

    build_wheel --files=LIST --extension=FILE --out=FOLDER

Links the files into a scratch folder in the shape of the repository, so that nothing undeclared can
get into the wheel, and asks setuptools for it as pip does.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["build", "place_of"]

# What pip runs, with the names that the packaging standard gives.
_BACK_END = "import sys, setuptools.build_meta as b; print(b.build_wheel(sys.argv[1]))"


def place_of(path: str) -> str:
    """The place in the repository of a file that may be generated or external."""
    parts = Path(path).parts
    if parts[0] == "bazel-out":
        parts = parts[3:]
    if parts[0] == "external":
        parts = parts[2:]
    return "/".join(parts)


def build(files: list[str], extension: str, out: Path, root: Path = Path()) -> str:
    """The name of the wheel that is now in `out`; `files` are relative to `root`."""
    out = out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for file in files:
            target = Path(scratch, place_of(file))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / file, target)
        environment = {
            **os.environ,
            "DG_PREBUILT_EXTENSION": str(Path(extension).absolute()),
            "PYTHONDONTWRITEBYTECODE": "1",
            # The action's own environment has no PYTHONPATH: what this process can import, it can.
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
        done = subprocess.run(
            [sys.executable, "-c", _BACK_END, str(out)],
            cwd=scratch,
            env=environment,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            sys.exit(f"build_wheel: setuptools failed:\n{done.stdout}{done.stderr}")
        return done.stdout.splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", required=True, help="file with one path a line")
    parser.add_argument("--extension", required=True)
    parser.add_argument("--out", required=True, type=Path)
    flags = parser.parse_args()
    build(Path(flags.files).read_text().split("\n")[:-1], flags.extension, flags.out)


if __name__ == "__main__":
    main()
