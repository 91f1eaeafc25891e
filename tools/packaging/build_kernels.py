"""Builds the wheel deep-gemm-kernels-sm90: kernels compiled ahead, which deep_gemm finds.

    python -m tools.packaging.build_kernels --out dist             # every kernel of sm_90a
    python -m tools.packaging.build_kernels --out dist --nvrtc /somewhere/libnvrtc.so.12
    python -m tools.packaging.build_kernels --out dist --op fp8_einsum "fp8_gemm_nt n=576 k=7168"

Needs no GPU; deep_gemm is importable and its extension built. The same sources and the same NVRTC
give the same bytes. Bazel runs this file for //tools/packaging:kernels_sm90_wheel.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import io
import json
import os
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["MAX_BYTES", "PACKAGE", "build"]

PACKAGE = "deep_gemm_kernels_sm90"
ARCH = "90a"
MAX_BYTES = 30_000_000

# What loads, and the text it was made from; the rest of an entry is for whoever compiled it.
_KEPT = ("kernel.cubin", "kernel.cu")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # zip files know no earlier time

_INIT = '''"""Kernels of deep_gemm for NVIDIA sm_90a, compiled ahead: data, read where it lies."""

__version__ = "{version}"
'''
_METADATA = """Metadata-Version: 2.4
Name: deep-gemm-kernels-sm90
Version: {version}
Summary: Kernels of deep-gemm {version} for NVIDIA sm_90a, compiled ahead
License-Expression: MIT
Requires-Python: >=3.10
"""
_WHEEL = """Wheel-Version: 1.0
Generator: build_kernels
Root-Is-Purelib: true
Tag: py3-none-any
"""


def _prepare(cache: Path, nvrtc: str | None) -> None:
    """This process compiles into `cache` alone, whatever its caller's variables say."""
    for name in [name for name in os.environ if name.startswith(("DG_JIT_", "DJ_JIT_"))]:
        if nvrtc is not None or not name.endswith("_NVRTC_LIBRARY"):
            del os.environ[name]
    os.environ |= {"DG_JIT_CACHE_DIR": str(cache), "DG_JIT_SHIPPED_KERNELS": "0"}
    os.environ["DG_JIT_COMPILER"] = "nvrtc"
    if nvrtc is not None:
        os.environ["DG_JIT_NVRTC_LIBRARY"] = str(Path(nvrtc).absolute())


def _show(done: int, event: dict[str, Any]) -> None:
    print(f"\r{done} compiled, {event['name']:<48}", end="", file=sys.stderr, flush=True)


def _compile(ops: list[str], num_threads: int | None) -> None:
    import deep_gemm

    compiled = 0

    def count(event: dict[str, Any]) -> None:
        nonlocal compiled
        if event["event"] == "compile":
            compiled += 1
            _show(compiled, event)

    deep_gemm.set_event_callback(count if sys.stderr.isatty() else None)
    for asked in ops:
        op, *sizes = asked.split()
        pairs = (size.split("=") for size in sizes)
        keys: dict[str, Any] = {name: list(map(int, text.split(","))) for name, text in pairs}
        deep_gemm.precompile(op, arch=ARCH, num_threads=num_threads, **keys)
    deep_gemm.set_event_callback(None)


def _stripped(manifest: str) -> tuple[str, dict[str, str]]:
    """The manifest without folders of this machine and without files that are left out.

    Also its fields. The form is that of deepjit_core's entry_manifest.hpp.
    """
    lines = manifest.splitlines()[:-1]  # the last one is the checksum of the others
    kept = []
    for line in lines:
        if line.startswith("file ") and line.split(" ", 3)[3] not in _KEPT:
            continue
        if line.startswith("command "):
            line = re.sub(r" -I.*?(?= --| kernel\.cu$)", "", line)
        kept.append(line + "\n")
    fields = dict(line.rstrip("\n").split(" ", 1) for line in kept[1:] if " " in line)
    text = "".join(kept)
    return f"{text}end {hashlib.sha256(text.encode()).hexdigest()}\n", fields


def _entries(cache: Path) -> Iterator[tuple[str, dict[str, bytes], dict[str, str]]]:
    """(folder name, files, manifest's fields) of every kernel in the cache."""
    for folder in sorted((cache / "cache").iterdir()):
        text, fields = _stripped((folder / "manifest").read_text())
        files = {name: (folder / name).read_bytes() for name in _KEPT}
        yield folder.name, {**files, "manifest": text.encode()}, fields


def _write_wheel(path: Path, files: dict[str, bytes], dist_info: str) -> None:
    """A zip of the files in order, with the RECORD that installers want."""
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.writerow((name, f"sha256={digest}", len(data)))
    rows.writerow((f"{dist_info}/RECORD", "", ""))
    files = {**files, f"{dist_info}/RECORD": record.getvalue().encode()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr = 0o100644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data, compresslevel=9)


def _pack(cache: Path, out: Path, version: str) -> Path:
    files: dict[str, bytes] = {}
    compilers = set()
    count = 0
    for folder, parts, fields in _entries(cache):
        count += 1
        compilers.add(fields["toolchain"])
        for name, data in parts.items():
            files[f"{PACKAGE}/layer/packs/{folder}/{name}"] = data
    facts = {"version": version, "arch": ARCH, "kernels": count, "compiler": ", ".join(compilers)}
    dist_info = f"{PACKAGE}-{version}.dist-info"
    head = {
        f"{PACKAGE}/__init__.py": _INIT.format(version=version).encode(),
        f"{PACKAGE}/pack.json": (json.dumps(facts, sort_keys=True) + "\n").encode(),
    }
    tail = {
        f"{dist_info}/METADATA": _METADATA.format(version=version).encode(),
        f"{dist_info}/WHEEL": _WHEEL.encode(),
    }
    path = out / f"{PACKAGE}-{version}-py3-none-any.whl"
    _write_wheel(path, {**head, **files, **tail}, dist_info)
    size = path.stat().st_size
    raw = sum(map(len, files.values()))
    print(f"{path}: {count} kernels, {size} bytes, {raw} unpacked, by {facts['compiler']}")
    if size > MAX_BYTES:
        raise SystemExit(f"build_kernels: {size} bytes, {MAX_BYTES} at most")
    return path


def build(
    out: Path,
    ops: list[str] | None = None,
    *,
    nvrtc: str | None = None,
    num_threads: int | None = None,
) -> Path:
    """The wheel, now in `out`. Once a process, and before any other use of deep_gemm in it."""
    out = out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        _prepare(Path(scratch), nvrtc)
        _compile(ops or ["all"], num_threads)
        from deep_gemm import __version__

        return _pack(Path(scratch), out, __version__)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--op", nargs="+", help="of these alone, with sizes of `precompile`")
    parser.add_argument("--nvrtc", help="the library to compile with; as deep_gemm finds it else")
    parser.add_argument("--num-threads", type=int)
    flags = parser.parse_args()
    build(flags.out, flags.op, nvrtc=flags.nvrtc, num_threads=flags.num_threads)


if __name__ == "__main__":
    main()
