"""The fuzzer's corpus as one file: `corpus.py pack FOLDER FILE`, `corpus.py unpack FILE FOLDER`.

Each input is its length in four bytes, little end first, and the bytes.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path


def pack(folder: Path, file: Path) -> int:
    inputs = sorted(
        {path.read_bytes() for path in folder.iterdir()}, key=lambda one: (len(one), one)
    )
    file.write_bytes(b"".join(len(one).to_bytes(4, "little") + one for one in inputs))
    return len(inputs)


def unpack(file: Path, folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    data, at, count = file.read_bytes(), 0, 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "little")
        one = data[at + 4 : end]
        (folder / hashlib.sha256(one).hexdigest()[:16]).write_bytes(one)
        at, count = end, count + 1
    return count


if __name__ == "__main__":
    action, source, target = sys.argv[1:]
    print({"pack": pack, "unpack": unpack}[action](Path(source), Path(target)))
