"""One implementation in a process of its own: prepares rows and times them when asked.

    PYTHONPATH=<folder of a deep_gemm>:<folder of this package> python -m _worker.worker

A question is a line of JSON: {"do": "prepare", "row": {...}}, {"do": "measure", "what": "call",
"n": 20}, {"do": "error"}, {"do": "first", "row": {...}}, {"do": "host", "n": 300}. An answer is one
too. Device time is the sum of what a call put on the device, from the profiler, with L2 written
over before each call; the median of `n`.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import statistics
import sys
import time
from typing import Any

import torch

from . import gemms, others
from .workload import Call, Workload

FAMILIES = {
    "dense_fp8": gemms.dense_fp8,
    "dense_bf16": gemms.dense_bf16,
    "m_grouped_fp8_index": gemms.m_grouped_fp8,
    "m_grouped_fp8_psum": gemms.m_grouped_fp8,
    "masked_fp8": gemms.masked_fp8,
    "k_grouped_fp8": gemms.k_grouped_fp8,
    "skip_head_mid_fp8": gemms.skip_head_mid_fp8,
    "tf32_hc_prenorm": others.tf32_hc_prenorm,
    "mqa_logits": others.mqa_logits,
    "paged_mqa_logits": others.paged_mqa_logits,
    "einsum": others.einsum,
    "fp8_einsum": others.fp8_einsum,
    "sf_layout": others.sf_layout,
}

_FLUSH_WORDS = 64 << 20  # 256 MB: more than any L2
_flush: list[torch.Tensor] = []


def _flush_l2() -> None:
    if not _flush:
        _flush.append(torch.empty(_FLUSH_WORDS, dtype=torch.int32, device="cuda"))
    _flush[0].fill_(1)


def device_us(call: Call, n: int) -> float:
    """Median device microseconds of a call, all its kernels, copies and sets together."""
    from torch.profiler import ProfilerActivity, profile

    for _ in range(3):
        call()
    _flush_l2()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as record:
        for _ in range(n):
            _flush_l2()
            call()
        torch.cuda.synchronize()
    events = [
        event for event in record.events() if event.device_type == torch.autograd.DeviceType.CUDA
    ]
    events.sort(key=lambda event: event.time_range.start)
    flush = events[0].name
    longest = max(event.device_time for event in events if event.name == flush)
    totals: list[float] = []
    for event in events:
        if event.name == flush and event.device_time > longest / 2:
            totals.append(0.0)
        else:
            totals[-1] += event.device_time
    if len(totals) != n:
        raise RuntimeError(f"{len(totals)} flushes seen for {n} calls")
    return statistics.median(totals)


def host_us(call: Call, n: int) -> float:
    """Median host microseconds a call over nine runs of n."""
    for _ in range(20):
        call()
    runs = []
    for _ in range(9):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(n):
            call()
        runs.append((time.perf_counter() - start) / n * 1e6)
    torch.cuda.synchronize()
    return statistics.median(runs)


class Worker:
    """The state between questions: one workload."""

    def __init__(self) -> None:
        start = time.perf_counter()
        self.library = importlib.import_module("deep_gemm")
        self.import_s = time.perf_counter() - start
        self.workload: Workload | None = None

    def _make(self, row: dict[str, Any]) -> Workload:
        self.workload = None
        gc.collect()
        torch.cuda.empty_cache()
        torch.manual_seed(row.get("seed", 0))
        return FAMILIES[row["family"]](self.library, row)

    def _current(self) -> Workload:
        if self.workload is None:
            raise RuntimeError("prepare a row first")
        return self.workload

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        what = question["do"]
        if what == "prepare":
            self.workload = self._make(question["row"])
            return {"flops": self.workload.flops, "bytes": self.workload.num_bytes}
        if what == "first":
            workload = self._make(question["row"])
            torch.cuda.synchronize()
            start = time.perf_counter()
            workload.call()
            torch.cuda.synchronize()
            ms = (time.perf_counter() - start) * 1e3
            return {"first_ms": ms, "import_s": self.import_s}
        if what == "error":
            return {"error": self._current().error()}
        if what == "host":
            return {"host_us": host_us(self._current().call, question["n"])}
        workload = self._current()
        call = workload.call if question["what"] == "call" else workload.vendor
        if call is None:
            return {"us": None}
        return {"us": device_us(call, question["n"])}


def main() -> None:
    """Answer until the input ends. What libraries print goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    torch.backends.cuda.matmul.allow_tf32 = False
    worker = Worker()
    answers.write(json.dumps({"ready": True, "file": worker.library.__file__}) + "\n")
    for line in sys.stdin:
        try:
            answer = worker.answer(json.loads(line))
        except Exception as error:
            answer = {"failed": f"{type(error).__name__}: {error}"[:400]}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
