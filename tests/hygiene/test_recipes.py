"""What README and CONTRIBUTING say is there."""

from __future__ import annotations

import os
import re

from tools.checks import recipes, tree

ROOT = tree.root()


def test_every_path_of_a_recipe_exists() -> None:
    assert recipes.missing_paths(ROOT) == []


def test_every_label_in_a_document_is_a_target() -> None:
    assert recipes.missing_targets(ROOT) == []


def test_the_first_screen_of_the_readme_has_the_two_commands() -> None:
    first_screen = (ROOT / "README.md").read_text().splitlines()[:40]
    commands = [line.strip() for line in first_screen if line.strip().startswith("./tools/")]
    assert [command.split("#")[0].strip() for command in commands] == [
        "./tools/bazelw run //deep_gemm:quickstart",
        "./tools/bazelw test //...",
    ]


def test_scripts_named_in_the_documents_can_be_run() -> None:
    for document in ("README.md", "CONTRIBUTING.md", "docs/build.md"):
        for script in re.findall(r"\./?((?:tools|\.ci)/[\w/]+)", (ROOT / document).read_text()):
            assert os.access(ROOT / script, os.X_OK), f"{document}: {script}"


def test_every_top_folder_of_the_house_is_in_the_readmes_map() -> None:
    text = (ROOT / "README.md").read_text()
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()}
    ours = {name for name in folders if tree.is_ours(name) and name[0] != "."}
    assert {name for name in ours if f"{name}/" not in text} == set()


def test_braces_and_stems_of_a_recipe_are_expanded() -> None:
    text = "touch `a/<stem>_check.{hpp,cpp}` and `./tools/bazelw`, not `--config=gpu`"
    assert recipes.recipe_paths(text) == ["a/<stem>_check.hpp", "a/<stem>_check.cpp"]
