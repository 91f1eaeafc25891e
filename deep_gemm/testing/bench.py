"""Timing a call: by events (`bench`) or by the profiler's kernel records (`bench_kineto`).

    seconds = bench(lambda: deep_gemm.bf16_gemm_nt(a, b, d))
    seconds = bench_kineto(fn, "bf16_gemm")

Both work on the CPU too, where a wall clock takes the place of events and operator records that of
kernel records. They measure and return; nothing is asserted or printed.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

__all__ = ["bench", "bench_kineto", "empty_suppress", "suppress_stdout_stderr"]

_FLUSH_BYTES = 256_000_000  # larger than any L2


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def bench(
    fn: Callable[[], Any], num_warmups: int = 5, num_tests: int = 10, high_precision: bool = False
) -> float:
    """Seconds per call, after writing 256 MB so that the caches are cold.

    `high_precision` first queues a large matmul, which hides the launch latency on a GPU.
    """
    for _ in range(num_warmups):
        fn()
    if _device() == "cpu":
        torch.empty(_FLUSH_BYTES // 4, dtype=torch.int32, device="cpu").zero_()
        start = time.perf_counter()
        for _ in range(num_tests):
            fn()
        return (time.perf_counter() - start) / num_tests

    torch.cuda.synchronize()
    torch.empty(_FLUSH_BYTES // 4, dtype=torch.int32, device="cuda").zero_()
    if high_precision:
        x = torch.randn((8192, 8192), dtype=torch.float32, device="cuda")
        x @ x
    start_event = torch.cuda.Event(enable_timing=True)
    end_event = torch.cuda.Event(enable_timing=True)
    start_event.record()
    for _ in range(num_tests):
        fn()
    end_event.record()
    torch.cuda.synchronize()
    return start_event.elapsed_time(end_event) / num_tests / 1e3


@contextlib.contextmanager
def empty_suppress() -> Iterator[None]:
    """Context manager that does nothing."""
    yield


@contextlib.contextmanager
def suppress_stdout_stderr() -> Iterator[None]:
    """Context manager that silences both streams, also for code that writes to the descriptors."""
    sys.stdout.flush()
    sys.stderr.flush()
    null = os.open(os.devnull, os.O_WRONLY)
    saved = [(fd, os.dup(fd)) for fd in (1, 2)]
    for fd, _ in saved:
        os.dup2(null, fd)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for fd, copy in saved:
            os.dup2(copy, fd)
            os.close(copy)
        os.close(null)


def bench_kineto(
    fn: Callable[[], Any],
    kernel_names: str | tuple[str, ...],
    num_tests: int = 30,
    suppress_kineto_output: bool = False,
    trace_path: str | None = None,
    flush_l2: bool = True,
    with_multiple_kernels: bool = False,
    barrier: Callable[[], Any] | None = None,
) -> float | tuple[float, ...]:
    """Mean seconds of the kernels whose name contains the given substring; a tuple gives a tuple.

    0 for a name that did not run. More than one kernel for a name is an error unless
    `with_multiple_kernels`, which adds them up. Returns 1 without running anything when
    DG_USE_NVIDIA_TOOLS is set: another profiler is in charge then.
    """
    names = (kernel_names,) if isinstance(kernel_names, str) else tuple(kernel_names)
    as_given = (lambda values: values[0]) if isinstance(kernel_names, str) else tuple
    if os.environ.get("DG_USE_NVIDIA_TOOLS", "0") not in ("", "0"):
        return as_given([1] * len(names))

    on_gpu = _device() == "cuda"
    activity = torch.profiler.ProfilerActivity
    fn()
    with suppress_stdout_stderr() if suppress_kineto_output else empty_suppress():
        with torch.profiler.profile(activities=[activity.CUDA if on_gpu else activity.CPU]) as prof:
            for _ in range(num_tests):
                if flush_l2:
                    torch.empty(_FLUSH_BYTES // 4, dtype=torch.int32, device=_device()).zero_()
                if barrier is not None:
                    barrier()
                fn()
            if on_gpu:
                torch.cuda.synchronize()
        if trace_path is not None:
            prof.export_chrome_trace(trace_path)

    seconds = []
    for name in names:
        rows = [row for row in prof.key_averages() if name in row.key]
        if len(rows) > 1 and not with_multiple_kernels:
            found = ", ".join(row.key for row in rows)
            raise RuntimeError(f"bench_kineto: {name!r} names several kernels: {found}")
        total_us = sum(row.device_time_total if on_gpu else row.cpu_time_total for row in rows)
        calls = max((row.count for row in rows), default=0)
        seconds.append(total_us / calls / 1e6 if calls else 0.0)
    return as_given(seconds)
