"""The lowest manylinux tag that a library's needed symbols allow.

    platform_tag(Path("_C_extension.abi3.so"))     # "manylinux_2_34_x86_64"
    python3 -m tools.packaging.platform_tag FILE   # the same, and what raises it

Read from the ELF file itself: building needs neither auditwheel nor binutils. A test compares the
answer with auditwheel's.
"""

from __future__ import annotations

import platform
import re
import struct
import sys
from pathlib import Path

__all__ = ["needed_versions", "platform_tag"]

# (glibc minor, newest GLIBCXX minor) of each policy, oldest first: GLIBCXX_3.4.x of its libstdc++.
_POLICIES = (
    (17, 19), (24, 22), (26, 22), (27, 24), (28, 24), (31, 28), (34, 29), (35, 30), (39, 33),
)  # fmt: skip

_SHT_DYNSYM, _SHT_GNU_VERNEED = 11, 0x6FFFFFFE


def needed_versions(library: Path) -> set[str]:
    """Names of all symbol versions that the library asks of others: GLIBC_2.34, CXXABI_1.3, ..."""
    data = library.read_bytes()
    if data[:4] != b"\x7fELF" or data[4] != 2 or data[5] != 1:
        raise ValueError(f"{library} is no 64-bit little-endian ELF file")
    (offset,) = struct.unpack_from("<Q", data, 0x28)
    entry_size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [
        struct.unpack_from("<IIQQQQIIQQ", data, offset + i * entry_size) for i in range(count)
    ]
    found: set[str] = set()
    for section in sections:
        if section[1] != _SHT_GNU_VERNEED:
            continue
        strings = sections[section[6]][4]
        at = section[4]
        while True:
            _, num_aux, _, aux, following = struct.unpack_from("<HHIII", data, at)
            place = at + aux
            for _ in range(num_aux):
                _, _, _, name, next_aux = struct.unpack_from("<IHHII", data, place)
                start = strings + name
                found.add(data[start : data.index(b"\0", start)].decode())
                place += next_aux
            if following == 0:
                break
            at += following
    return found


def _newest(versions: set[str], prefix: str) -> int:
    numbers = [re.fullmatch(prefix + r"\.(\d+)(?:\.\d+)*", version) for version in versions]
    return max((int(found[1]) for found in numbers if found), default=0)


def platform_tag(library: Path) -> str:
    """`manylinux_2_<x>_<machine>`; plain `linux_<machine>` where no policy is new enough."""
    versions = needed_versions(library)
    glibc, glibcxx = _newest(versions, r"GLIBC_2"), _newest(versions, r"GLIBCXX_3\.4")
    for minor, newest_cxx in _POLICIES:
        if glibc <= minor and glibcxx <= newest_cxx:
            return f"manylinux_2_{minor}_{platform.machine()}"
    return f"linux_{platform.machine()}"


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(platform_tag(Path(argument)), argument)
        print(*sorted(needed_versions(Path(argument))))
