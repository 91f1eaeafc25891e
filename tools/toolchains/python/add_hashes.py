"""Prints a lock file with further accepted hashes for one package.

    add_hashes.py LOCK PACKAGE HASHES

Left to others: resolving (tools/dev/lock) and installing (packages.bzl).
"""

from __future__ import annotations

import sys
from pathlib import Path


def with_hashes(lock: str, package: str, hashes: list[str]) -> str:
    """`lock` with one `--hash` line more per hash behind the entry of `package`."""
    lines: list[str] = []
    for line in lock.splitlines():
        lines.append(line)
        if line.startswith(f"{package}=="):
            lines += [f"    --hash={value} \\" for value in hashes]
    return "\n".join(lines) + "\n"


def main(lock: str, package: str, hashes: str) -> None:
    lines = Path(hashes).read_text().splitlines()
    values = [line for line in lines if line and not line.startswith("#")]
    print(with_hashes(Path(lock).read_text(), package, values), end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
