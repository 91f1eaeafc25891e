"""The `bench` command: arguments, progress, and where results go."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import torch

from .. import errors
from . import _cases, _measure, _report

__all__ = ["add_arguments", "main"]

_ROOT = Path(__file__).resolve().parents[2]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `python -m deep_gemm bench`."""
    parser.add_argument("--protocol", choices=("cases", "seed"), default="cases")
    parser.add_argument("--family", nargs="+", choices=_cases.FAMILIES, default=_cases.FAMILIES)
    parser.add_argument("--cases", type=Path, default=_cases.DEFAULT, help="rows to run")
    parser.add_argument("--every", type=int, default=1, help="run every N-th row of a family")
    parser.add_argument("--peer", type=Path, help="folder that holds another deep_gemm")
    parser.add_argument("--processes", type=int, default=5, help="fresh ones a first call")
    parser.add_argument("--calls", type=int, default=500, help="warm calls, seed protocol")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--json-file", type=Path)
    parser.add_argument("--plot", type=Path)


def _require_gpu() -> None:
    if not torch.cuda.is_available():
        raise errors.Device(
            errors.describe(
                "bench",
                "device",
                "a machine without GPU",
                "BENCH_DEVICE",
                "device times are those of a GPU",
                "run it there; `python -m deep_gemm.quickstart` measures the CPU",
            )
        )


def _cases_protocol(flags: argparse.Namespace) -> dict[str, Any]:
    rows = _cases.load(flags.cases, flags.family)
    chosen = []
    for family in dict.fromkeys(row["family"] for row in rows):
        chosen += [row for row in rows if row["family"] == family][:: flags.every]
    print(_report.heading())
    results = _measure.measure_rows(
        chosen, _ROOT, flags.peer, lambda result: print(_report.line(result), flush=True)
    )
    means = _report.family_means(results)
    for mean in means:
        print(
            "  ".join(
                f"{k}={v:.3f}" if isinstance(v, float) else f"{k}={v}" for k, v in mean.items()
            )
        )
    return {"device": torch.cuda.get_device_name(), "results": results, "means": means}


def _seed_protocol(flags: argparse.Namespace) -> dict[str, Any]:
    roots = {"ours": _ROOT} | ({"peer": flags.peer} if flags.peer else {})
    tables: dict[str, Any] = {"device": torch.cuda.get_device_name(), "warm": [], "first": []}
    for name, rows in (
        ("warm", _measure.seed_warm(roots, flags.calls)),
        ("first", _measure.first_calls(roots, flags.processes)),
    ):
        for row in rows:
            tables[name].append(row)
            cells = (
                f"{key}={value:.3g}" if isinstance(value, float) else f"{key}={value}"
                for key, value in row.items()
            )
            print("  ".join(cells), flush=True)
    return tables


def main(flags: argparse.Namespace) -> int:
    """Run the protocol asked for; 0 when every row of ours ran."""
    _require_gpu()
    answer = _seed_protocol(flags) if flags.protocol == "seed" else _cases_protocol(flags)
    results = answer.get("results", [])
    if flags.json_file:
        _report.write_json(flags.json_file, answer)
    if flags.csv and results:
        _report.write_csv(flags.csv, results)
    if flags.plot and results:
        _report.write_plot(flags.plot, results)
    failed = [result["case"] for result in results if "ours_failed" in result]
    if failed:
        print(f"{len(failed)} rows failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0
