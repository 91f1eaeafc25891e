"""CONTRIBUTING's recipes and README's commands against the tree.

recipes.missing_paths(root)      # paths that a recipe names and nothing matches
recipes.missing_targets(root)    # //labels in the READMEs that no BUILD file declares
"""

from __future__ import annotations

import re
from pathlib import Path

from tools.checks import build_files, tree

_CODE = re.compile(r"`([^`\n]+)`")
_LABEL = re.compile(r"(?<![\w@])//([\w/]+):([\w.]+)")


def recipe_paths(text: str) -> list[str]:
    """Paths in backticks, from the root; `<stem>` is any name, `{a,b}` is each."""
    paths = []
    for code in _CODE.findall(text):
        if "/" not in code or " " in code or code.startswith(("//", "./", "--", "@")):
            continue
        alternatives = [code]
        if found := re.search(r"\{([^}]+)\}", code):
            alternatives = [code.replace(found[0], each) for each in found[1].split(",")]
        paths += alternatives
    return paths


def missing_paths(root: Path) -> list[str]:
    text = (root / "CONTRIBUTING.md").read_text()
    return [
        path
        for path in recipe_paths(text)
        if not any(root.glob(re.sub(r"<\w+>", "*", path.rstrip("/"))))
    ]


def missing_targets(root: Path) -> list[str]:
    declared = {(package, target.name) for package, target in build_files.all_targets(root)}
    missing = []
    for path in tree.files(root, ".md"):
        for package, name in _LABEL.findall(path.read_text()):
            if (package, name) not in declared and not (root / package / name).exists():
                missing.append(f"{path.relative_to(root)}: //{package}:{name}")
    return missing
