"""Kernel packs: wheels of kernels compiled ahead, found beside this package without importing them.

    for folder in _packs.layers(): ...       # what the extension reads last
    _packs.verdicts(answer["cache"]["packs"])    # what doctor says of each
    _packs.serving(answer["cuda"], packs)        # and of a machine that has nothing else

A pack is a package with a cache layer in it and `pack.json` beside that; tools/packaging builds it.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["NAMES", "layers", "serving", "verdicts"]

NAMES = ("deep_gemm_kernels_sm90",)


def _folder(name: str) -> Path | None:
    """Where the package lies; the search of the path alone, nothing of it runs."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):  # a stand-in without a specification
        return None
    return Path(spec.origin).absolute().parent if spec and spec.origin else None


def layers() -> list[Path]:
    """The cache layers of the packs that are installed."""
    folders = [_folder(name) for name in NAMES]
    return [folder / "layer" for folder in folders if folder and (folder / "layer").is_dir()]


def _facts(layer: Path) -> dict[str, Any]:
    """What the builder of a pack wrote down; empty where that is gone."""
    try:
        return dict(json.loads((layer.parent / "pack.json").read_text()))
    except (OSError, ValueError):
        return {}


def verdicts(counted: Sequence[dict[str, Any]], version: str) -> list[dict[str, Any]]:
    """One answer a known pack: what the extension counted, its version, and where none is, that."""
    found = {Path(one["dir"]).parent.name: one for one in counted}
    answers: list[dict[str, Any]] = []
    for name in NAMES:
        if name not in found:
            reason = "it is not installed: kernels are compiled at their first call"
            fix = f"nothing has to be done; or install {name.replace('_', '-')} {version}"
            answers.append({"name": name, "found": False, "reason": reason, "fix": fix})
            continue
        facts = _facts(Path(found[name]["dir"]))
        answer = {"name": name, "found": True, "version": facts.get("version", ""), **found[name]}
        answer["compiler"] = facts.get("compiler", "")
        if answer["entries"] > answer["usable"] and answer["version"] != version:
            answer["fix"] = f"install {name.replace('_', '-')} {version}"
        answers.append(answer)
    return answers


def serving(cuda: dict[str, Any], packs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The verdict on CUDA, true also where packs hold kernels and nothing can compile others."""
    has_compiler = cuda["nvrtc"]["found"] or cuda["nvcc"]["found"]
    usable = sum(pack["usable"] for pack in packs if pack["found"] and pack["is_on"])
    if has_compiler or not cuda["driver"]["found"] or not usable:
        return {**cuda, "note": ""}
    note = f"{usable} kernels of packs are usable; no compiler: new kernels cannot be made"
    return {**cuda, "found": True, "reason": "", "fix": "", "note": note}
