"""Rows to results: the implementations take turns on one GPU."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ._cases import SEED, Row, title
from ._process import Worker

__all__ = ["first_calls", "measure_rows", "seed_warm"]

_ROUNDS = 3
_CALLS = 11  # a round; with three rounds more than 30 a figure


def _rates(row: dict[str, Any], us: float | None) -> None:
    if us:
        row["tflops"] = row["flops"] / us / 1e6
        row["gbps"] = row["bytes"] / us / 1e3


def _measure(row: Row, ours: Worker, peer: Worker | None) -> dict[str, Any]:
    result: dict[str, Any] = {"family": row["family"], "case": title(row)}
    workers = {"ours": ours} | ({"peer": peer} if peer else {})
    ready: dict[str, Worker] = {}
    for name, worker in workers.items():
        answer = worker.ask(do="prepare", row=row)
        if "failed" in answer:
            result[f"{name}_failed"] = answer["failed"]
            continue
        ready[name] = worker
        result |= {key: answer[key] for key in ("flops", "bytes")}
        checked = worker.ask(do="error")
        result[f"{name}_error"] = checked.get("error")
        if "failed" in checked:
            result[f"{name}_failed"] = checked["failed"]
    times: dict[str, list[float]] = {}
    for _ in range(_ROUNDS):
        for name, worker in ready.items():
            for what, key in (("call", f"{name}_us"), ("vendor", "vendor_us")):
                if what == "vendor" and name != "ours":
                    continue
                answer = worker.ask(do="measure", what=what, n=_CALLS)
                if answer.get("us"):
                    times.setdefault(key, []).append(answer["us"])
                elif "failed" in answer:
                    result[f"{key[:-3]}_failed"] = answer["failed"]
    result |= {key: statistics.median(values) for key, values in times.items()}
    _rates(result, result.get("ours_us"))
    for key, other in (("vs_peer", "peer_us"), ("vs_vendor", "vendor_us")):
        if result.get("ours_us") and result.get(other):
            result[key] = result[other] / result["ours_us"]
    return result


def measure_rows(
    rows: Iterable[Row], ours: Path, peer: Path | None, seen: Callable[[dict[str, Any]], None]
) -> list[dict[str, Any]]:
    """One result a row; `seen` is called as each arrives."""
    results = []
    with Worker(ours) as first:
        second = Worker(peer) if peer else None
        try:
            for row in rows:
                results.append(_measure(row, first, second))
                seen(results[-1])
        finally:
            if second is not None:
                second.__exit__(None, None, None)
    return results


def _first(root: Path, name: str, cache: str) -> float | None:
    with Worker(root, DG_JIT_CACHE_DIR=cache) as worker:
        return worker.ask(do="first", row=SEED[name]).get("first_ms")


def first_calls(roots: dict[str, Path], processes: int) -> Iterator[dict[str, Any]]:
    """First call of each seed workload, cold and from disk, in fresh processes; medians."""
    for name in SEED:
        for who, root in roots.items():
            cold, disk = [], []
            for _ in range(processes):
                with tempfile.TemporaryDirectory() as cache:
                    cold.append(_first(root, name, cache))
                    disk.append(_first(root, name, cache))
            row: dict[str, Any] = {"workload": name, "who": who}
            for key, values in (("cold_ms", cold), ("disk_ms", disk)):
                known = [value for value in values if value is not None]
                row[key] = statistics.median(known) if known else None
            yield row


def seed_warm(roots: dict[str, Path], calls: int) -> Iterator[dict[str, Any]]:
    """Warm calls of each seed workload: host time as the mean of `calls`, device time, error."""
    workers = {who: Worker(root) for who, root in roots.items()}
    try:
        for name, row in SEED.items():
            for who, worker in workers.items():
                result: dict[str, Any] = {"workload": name, "who": who}
                answer = worker.ask(do="prepare", row=row)
                if "failed" not in answer:
                    result |= worker.ask(do="error")
                    result["device_us"] = worker.ask(do="measure", what="call", n=31).get("us")
                    result |= worker.ask(do="host", n=calls)
                else:
                    result["failed"] = answer["failed"]
                yield result
    finally:
        for worker in workers.values():
            worker.__exit__(None, None, None)
