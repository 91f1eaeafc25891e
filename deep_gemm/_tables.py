"""Answers of the control plane as text for people.

print(table(("name", "bytes"), [("gemm", 12)]))
print(doctor_text(support.doctor()))
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["doctor_text", "size_text", "table"]


def size_text(count: float) -> str:
    """12, 3.4 kB, 5.6 MB, ..."""
    for unit in ("", " kB", " MB", " GB"):
        if count < 1000:
            return f"{count:.0f}{unit}" if unit in ("", " kB") else f"{count:.1f}{unit}"
        count /= 1000
    return f"{count:.1f} TB"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns as wide as their widest cell; numbers to the right, the last column as it is."""
    lines = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *lines, strict=True)]
    numeric = [
        bool(lines) and all(line[at][:1].isdigit() for line in lines) for at in range(len(header))
    ]

    def text(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(cells, widths, numeric, strict=True)
        ]
        return "  ".join(padded).rstrip()

    return "\n".join([text(header), "  ".join("-" * width for width in widths), *map(text, lines)])


def _part(name: str, verdict: dict[str, Any], what: str, indent: str = "") -> list[str]:
    found = verdict.get("found", not verdict.get("reason"))
    lines = [f"{indent}{name:<10}"[:10] + f" {'ok' if found else 'no':<3} {what if found else ''}"]
    if not found:
        lines[0] = lines[0].rstrip() + f"  {verdict['reason']}".replace("\n", "\n" + " " * 15)
        lines.append(f"{'':15}fix: {verdict['fix']}")
    return [line.rstrip() for line in lines]


def _pack_lines(pack: dict[str, Any]) -> list[str]:
    if not pack["found"]:
        return [f"  pack     no  {pack['name']}: {pack['reason']}"]
    what = f"{pack['name']} {pack['version']}, {pack['usable']} of {pack['entries']} kernels usable"
    if not pack["reason"]:
        return [f"  pack     ok  {what}, by {pack['compiler']}"]
    return [f"  pack     no  {what}: {pack['reason']}", f"{'':15}fix: {pack['fix']}"]


def doctor_text(answer: dict[str, Any], *, verbose: bool = False) -> str:
    """One line a part, and for each missing one the reason and the fix."""
    host, cuda, cache, package = (answer[key] for key in ("host", "cuda", "cache", "package"))
    driver = cuda["driver"]
    lines = _part(
        "host", host, f"{host['compiler']} for {host['arch']}, {host['num_threads']} threads"
    )
    lines += _part("cuda", cuda, cuda["note"] or "operators run on it")
    devices = ", ".join(driver["devices"]) or "no device listed"
    lines += _part("driver", driver, f"{driver['serves']}, {devices}", "  ")
    for tool in ("nvrtc", "nvcc"):
        verdict = cuda[tool]
        where = f"{verdict['version']} {verdict['path']} ({verdict['origin']})"
        lines += _part(tool, verdict, where, "  ")
    for name in sorted(set(answer) - {"host", "cuda", "cache", "package", "package_root"}):
        lines += _part(name, answer[name], "")
    dirs = ":".join(cache["dirs"])
    lines += _part("cache", cache, f"{dirs}, {cache['entries']} entries, mode {cache['mode']}")
    lines += [line for pack in cache["packs"] for line in _pack_lines(pack)]
    lines += _part("package", {}, f"{package['version']} with torch {package['torch']}")
    if verbose:
        lines.append(f"extension: {package['extension']}")
        for name, verdict in (("host", host), ("nvrtc", cuda["nvrtc"]), ("nvcc", cuda["nvcc"])):
            lines += [f"{name} looked at {place}" for place in verdict["looked_at"]]
    return "\n".join(lines)
