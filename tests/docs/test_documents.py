"""Documents hold: links lead somewhere, code runs, commands parse, every origin has its row."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from deep_gemm.__main__ import _parser
from tools.checks import snippets, tree

ROOT = tree.root()
PAGES = snippets.documents(ROOT)
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]


def pages_with(language: str) -> list[str]:
    return [
        name
        for name, page in zip(NAMES, PAGES, strict=True)
        if any(block.language == language for block in snippets.blocks(page))
        # Excerpts, whose whole programs are the examples beside them.
        and not name.startswith(("deepjit_core/", "backends_"))
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_somewhere(name: str) -> None:
    assert snippets.broken_links(ROOT / name) == []


@pytest.mark.parametrize("name", pages_with("python"))
def test_python_of_a_page_runs_from_top_to_bottom(name: str, tmp_path: Path) -> None:
    """One process a page: later blocks may use names of earlier ones, as a reader does."""
    blocks = [block for block in snippets.blocks(ROOT / name) if block.language == "python"]
    # Lines keep the numbers of the page, so that a traceback points into it.
    program = ""
    for block in blocks:
        program += "\n" * (block.line - 1 - program.count("\n")) + block.text
    script = tmp_path / f"{Path(name).stem}.py"
    script.write_text(program)
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "DG_JIT_CACHE_DIR": os.environ.get("DG_JIT_CACHE_DIR", str(tmp_path / "cache")),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{name}:\n{done.stdout}{done.stderr}"[-4000:]


@pytest.mark.parametrize("name", pages_with("cpp"))
def test_programs_of_a_page_compile_and_run(name: str, tmp_path: Path) -> None:
    for block in snippets.blocks(ROOT / name):
        if block.language != "cpp":
            continue
        assert "int main()" in block.text, f"{block}: only whole programs are checked"
        source = tmp_path / f"line{block.line}.cpp"
        source.write_text(block.text)
        command = [os.environ.get("CXX", "g++"), "-std=c++20", "-Wall", "-Wextra", "-Werror"]
        command += [f"-I{house}" for house in sorted(ROOT.glob("*/include"))]
        command += [str(source), "-o", str(source.with_suffix("")), "-ldl", "-lpthread"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, f"{block}:\n{done.stderr}"
        environment = {**os.environ, "DJ_JIT_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(
            [str(source.with_suffix(""))], env=environment, cwd=tmp_path, capture_output=True,
            text=True,
        )  # fmt: skip
        assert done.returncode == 0, f"{block}:\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("name", [name for name in NAMES if snippets.command_lines(ROOT / name)])
def test_commands_of_a_page_are_commands(name: str) -> None:
    for argv in snippets.command_lines(ROOT / name):
        try:
            _parser().parse_args(argv)
        except SystemExit as end:
            raise AssertionError(f"{name}: python -m deep_gemm {' '.join(argv)}") from end


def test_every_row_of_the_origin_is_mapped_once() -> None:
    text = (ROOT / "docs/compatibility.md").read_text()
    rows = re.findall(r"^\| ([JG]\d+) \|", text, re.MULTILINE)
    assert rows == [f"J{i}" for i in range(1, 11)] + [f"G{i}" for i in range(1, 12)]


def test_a_row_that_is_not_missing_names_its_proof() -> None:
    for line in (ROOT / "docs/compatibility.md").read_text().splitlines():
        if re.match(r"\| [JG]\d+ \|", line):
            cells = [cell.strip() for cell in line.split("|")]
            _, _, _, ours, proof, _, _ = cells
            assert ours.startswith("missing") or proof, line


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen, queue = set(), [ROOT / "README.md"]
    while queue:
        page = queue.pop()
        if page in seen or not page.exists():
            continue
        seen.add(page)
        for target in re.findall(r"\]\(([^)#\s]+\.md)", page.read_text()):
            queue.append((page.parent / target).resolve())
    assert [page.name for page in (ROOT / "docs").glob("*.md") if page not in seen] == []


def test_broken_links_and_open_blocks_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A b, c!\n[x](page.md#a-b-c) [y](gone.md) [z](#nothing) [w](https://a.b)\n")
    assert [text.split(": ")[1] for text in snippets.broken_links(page)] == ["gone.md", "#nothing"]
    page.write_text("```python\nx = 1\n")
    with pytest.raises(ValueError, match="without an end"):
        snippets.blocks(page)
