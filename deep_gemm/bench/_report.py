"""Results as text, CSV, JSON and a plot."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["family_means", "line", "write_csv", "write_json", "write_plot"]

_COLUMNS = (
    ("ours_us", "{:9.2f}"),
    ("peer_us", "{:9.2f}"),
    ("vendor_us", "{:9.2f}"),
    ("vs_peer", "{:6.3f}"),
    ("vs_vendor", "{:6.3f}"),
    ("tflops", "{:7.1f}"),
    ("gbps", "{:7.1f}"),
    ("ours_error", "{:9.1e}"),
    ("peer_error", "{:9.1e}"),
)


def _cell(value: Any, form: str) -> str:
    width = len(form.format(0.0))
    return form.format(value) if isinstance(value, (int, float)) else " " * (width - 1) + "-"


def heading() -> str:
    """The names of the columns."""
    names = [key.rjust(len(form.format(0.0))) for key, form in _COLUMNS]
    return f"{'family':<20} {'case':<34} " + " ".join(names)


def line(result: dict[str, Any]) -> str:
    """One result on one line; what failed follows on lines of its own."""
    cells = " ".join(_cell(result.get(key), form) for key, form in _COLUMNS)
    text = f"{result['family']:<20} {result['case']:<34} {cells}"
    for key, value in result.items():
        if key.endswith("_failed"):
            text += f"\n    {key}: {value}"
    return text


def _mean(values: Iterable[float]) -> float | None:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else None


def family_means(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Geometric means and the lowest row of each family."""
    means = []
    for family in dict.fromkeys(result["family"] for result in results):
        rows = [result for result in results if result["family"] == family]
        entry: dict[str, Any] = {"family": family, "rows": len(rows)}
        for key in ("vs_peer", "vs_vendor"):
            ratios = [row[key] for row in rows if key in row]
            entry[key] = _mean(ratios)
            entry[f"{key}_lowest"] = min(ratios, default=None)
        means.append(entry)
    return means


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n")


def write_csv(path: Path, results: list[dict[str, Any]]) -> None:
    names = list(dict.fromkeys(key for result in results for key in result))
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, names)
        table.writeheader()
        table.writerows(results)


def write_plot(path: Path, results: list[dict[str, Any]]) -> None:
    """A point a row, ratio to the peer by family; needs matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    families = list(dict.fromkeys(result["family"] for result in results))
    figure, axes = pyplot.subplots(figsize=(10, 0.6 * len(families) + 1.5))
    for at, family in enumerate(families):
        rows = [result for result in results if result["family"] == family]
        for key, colour, shift in (("vs_peer", "tab:blue", 0.12), ("vs_vendor", "tab:gray", -0.12)):
            ratios = [row[key] for row in rows if key in row]
            label = {"vs_peer": "peer / ours", "vs_vendor": "vendor / ours"}[key]
            axes.plot(
                ratios, [at + shift] * len(ratios), "o", color=colour, alpha=0.6,
                label=label if at == 0 else None,
            )  # fmt: skip
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(families)), families)
    axes.set_xlabel("ratio of times; right of 1 is faster than the other")
    axes.legend(loc="best")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
