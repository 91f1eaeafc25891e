"""Makes a CUDA build of torch importable on a machine without NVIDIA's libraries.

    stub_libraries.py TORCH_LIB_FOLDER

Every library that the folder's libraries need, that NVIDIA would bring and that is not there, is
replaced by a tiny one with the same soname, whose functions all return 999 ("unknown error"), those
of the CUDA runtime 100 ("no device"): that is the answer torch expects of such a machine. It lies
beside torch's own, where their run path looks first. A CPU build needs none: nothing happens.

CPU work is then as good as ever; torch.cuda.is_available() is False. Left alone: libcuda.so.1,
which torch opens by itself, and every library that is not NVIDIA's.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

NVIDIA = re.compile(r"lib(cu|nv|nccl)\w*\.so")
NVIDIA_FUNCTION = re.compile(
    r"(cu[A-Z]|cublas|cuda|cudnn|cufft|cuFile|cupti|curand|cusolver)|"
    r"(cusparse|nccl|nvml|nvrtc|nvshmem|nvJitLink)"
)
NOT_A_STUB = {"libcuda.so.1"}
STATUS = 999
NO_DEVICE = 100


@dataclass
class Needs:
    """What a set of libraries asks of others."""

    libraries: set[str] = field(default_factory=set)
    versioned: dict[str, dict[str, set[str]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(set))
    )  # library -> version -> functions
    plain: set[str] = field(default_factory=set)
    defined: set[str] = field(default_factory=set)


def _readelf(*arguments: str) -> list[str]:
    command = ["readelf", "--wide", *arguments]
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return done.stdout.splitlines()


def version_owners(lines: Iterable[str]) -> dict[str, str]:
    """Symbol version -> library that brings it, from `readelf --version-info`."""
    owners: dict[str, str] = {}
    library = ""
    for line in lines:
        if found := re.search(r"Version: \d+\s+File: (\S+)", line):
            library = found[1]
        elif library and (found := re.search(r"Name: (\S+)\s+Flags:", line)):
            owners[found[1]] = library
    return owners


def symbols(lines: Iterable[str]) -> Iterator[tuple[str, str, bool]]:
    """(name, version or "", is_defined) of the strong symbols of `readelf --dyn-syms`."""
    for line in lines:
        words = line.split()
        if len(words) < 8 or not words[0].endswith(":") or words[4] == "WEAK":
            continue
        name, _, version = words[7].partition("@")
        yield name, version.lstrip("@"), words[6] != "UND"


def needs_of(folder: Path) -> Needs:
    needs = Needs()
    for library in sorted(folder.glob("*.so*")):
        for line in _readelf("--dynamic", str(library)):
            if found := re.search(r"\(NEEDED\).*\[(.+)\]", line):
                needs.libraries.add(found[1])
        owners = version_owners(_readelf("--version-info", str(library)))
        for name, version, is_defined in symbols(_readelf("--dyn-syms", str(library))):
            if is_defined:
                needs.defined.add(name)
            elif version:
                needs.versioned[owners.get(version, "")][version].add(name)
            elif NVIDIA_FUNCTION.match(name):
                needs.plain.add(name)
    return needs


def stub_source(names: Iterable[str], status: int = STATUS) -> str:
    lines = [f"int {name}(void) {{ return {status}; }}" for name in sorted(set(names))]
    return "\n".join(lines) + "\n" if lines else "typedef int no_functions;\n"


def version_script(versions: dict[str, set[str]]) -> str:
    return "".join(
        f"{version} {{ global: {'; '.join(sorted(names))}; }};\n"
        for version, names in sorted(versions.items())
    )


def make_stub(soname: str, versions: dict[str, set[str]], plain: Iterable[str], out: Path) -> None:
    versioned = [name for names in versions.values() for name in names]
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch, "stub.c")
        status = NO_DEVICE if soname.startswith("libcudart.") else STATUS
        source.write_text(stub_source([*versioned, *plain], status))
        command = [os.environ.get("CC", "gcc"), "-w", "-fno-builtin", "-shared", "-fPIC"]
        command += [str(source), f"-Wl,-soname,{soname}", "-o", str(out)]
        if versions:
            script = Path(scratch, "stub.map")
            script.write_text(version_script(versions))
            command.append(f"-Wl,--version-script={script}")
        subprocess.run(command, check=True)


def make_stubs(folder: Path) -> list[str]:
    """Writes the missing libraries into `folder`; their names."""
    needs = needs_of(folder)
    present = {path.name for path in folder.iterdir()}
    missing = sorted(
        name
        for name in needs.libraries
        if NVIDIA.match(name) and name not in present and name not in NOT_A_STUB
    )
    # Functions without a version may come from any library; the first stub has them all.
    plain = sorted(needs.plain - needs.defined)
    for soname in missing:
        make_stub(soname, needs.versioned.get(soname, {}), plain, folder / soname)
        plain = []
    return missing


if __name__ == "__main__":
    for made in make_stubs(Path(sys.argv[1])):
        print("stub", made)
