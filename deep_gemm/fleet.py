"""Kernels for known models, compiled before the first request, by one process or by many ranks.

    from deep_gemm import fleet

    fleet.precompile_model("deepseek-v3", tensor_parallel=8)            # this process alone
    fleet.precompile_model("deepseek-v3", group=torch.distributed.group.WORLD)

With a process group each rank compiles its share, and what a rank lacks afterwards arrives over the
group as packs: ranks that share a cache folder send nothing. Needs no GPU when `arch` is given.
Ranks trust each other: a pack that a rank sends is unpacked into the receiver's own cache.
"""

from __future__ import annotations

import ctypes
import dataclasses
import os
import pickle
import tempfile
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.distributed as dist

from . import _ops, errors, support
from ._models import LOGITS, MODELS, Linear, Logits, calls, linears
from ._question import device_of_arch

__all__ = [
    "LOGITS",
    "MODELS",
    "Linear",
    "Logits",
    "Report",
    "calls",
    "linears",
    "precompile_linears",
    "precompile_model",
]


@dataclasses.dataclass
class Report:
    """What was done, on this rank and in all."""

    kernels: int = 0  # that the shapes need
    missing: int = 0  # of these in the cache of this rank, before the call
    compiled: int = 0  # by this rank
    received: int = 0  # from other ranks
    skipped: dict[str, str] = dataclasses.field(default_factory=dict)  # operator -> why


def _gather(value: Any, group: dist.ProcessGroup | None) -> list[Any]:
    """What every rank has; torch's own all_gather_object wants NumPy, this package does not."""
    if group is None:
        return [value]
    # A group of NCCL alone moves tensors of its GPU.
    device = "cuda" if dist.get_backend(group) == "nccl" else "cpu"
    data = bytearray(pickle.dumps(value))
    ranks = range(dist.get_world_size(group))
    sizes = [torch.zeros(1, dtype=torch.int64, device=device) for _ in ranks]
    dist.all_gather(sizes, torch.tensor([len(data)], device=device), group=group)
    most = max(int(size) for size in sizes)
    padded = torch.zeros(most, dtype=torch.uint8, device=device)
    padded[: len(data)] = torch.frombuffer(data, dtype=torch.uint8).to(device)
    parts = [torch.empty_like(padded) for _ in sizes]
    dist.all_gather(parts, padded, group=group)
    return [
        pickle.loads(ctypes.string_at(part.data_ptr(), int(size)))
        for part, size in zip([part.cpu() for part in parts], sizes, strict=True)
    ]


def _questions(shapes: Iterable[Linear | Logits], report: Report) -> list[dict[str, Any]]:
    """One `precompile` question for each size of an operator that this build has."""
    questions: list[dict[str, Any]] = []
    for one in sorted(shapes, key=lambda one: (one.op, one.size)):
        exists, why = support.supports(one.op)
        if not exists:
            report.skipped[one.op] = why
        elif one.question() not in questions:
            questions.append(one.question())
    return questions


def _missing(questions: list[dict[str, Any]], shared: dict[str, Any], report: Report) -> set[str]:
    """Digests that the cache of this rank lacks."""
    known: dict[str, bool] = {}
    for question in list(questions):
        try:
            answer = _ops.query("precompile", **question, **shared, dry_run=1)
        except (errors.InvalidArgument, errors.Unsupported) as error:
            report.skipped[question["op"]] = str(error)
            questions.remove(question)
            continue
        known |= {row["request"]: bool(row["cached"]) for row in answer["kernels"]}
    report.kernels = len(known)
    return {digest for digest, is_cached in known.items() if not is_cached}


def _share(wanted: list[set[str]], rank: int) -> set[str]:
    """What `rank` compiles: each missing kernel goes to one of the ranks that want it, in turn."""
    share = set()
    for number, digest in enumerate(sorted(set().union(*wanted))):
        wanting = [index for index, digests in enumerate(wanted) if digest in digests]
        if wanting[number % len(wanting)] == rank:
            share.add(digest)
    return share


def _pack(digests: set[str]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "share.pack")
        _ops.query("cache_pack", file=file, requests=",".join(sorted(digests)))
        with open(file, "rb") as stream:
            return stream.read()


def _unpack(data: bytes) -> int:
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "share.pack")
        with open(file, "wb") as stream:
            stream.write(data)
        return int(_ops.query("cache_unpack", file=file)["unpacked"])


def precompile_linears(
    shapes: Iterable[Linear | Logits],
    *,
    arch: str | None = None,
    num_threads: int | None = None,
    group: dist.ProcessGroup | None = None,
    on_kernel: Callable[[dict[str, Any]], None] | None = None,
    dry_run: bool = False,
) -> Report:
    """Bring every kernel of `shapes` into this rank's cache; with `dry_run` only count them.

    With `group`, a collective: every rank of it calls, and all raise Toolchain when a kernel fails
    anywhere. Operators that this build lacks are in `Report.skipped`. `on_kernel` is called with
    each row that this rank compiled.
    """
    report = Report()
    device = device_of_arch(arch)
    shared: dict[str, Any] = {"arch": arch, "device": device}
    questions = _questions(shapes, report)
    rank = 0 if group is None else dist.get_rank(group)
    missing = _missing(questions, shared, report)
    report.missing = len(missing)
    if dry_run:
        return report
    share = _share(_gather(missing, group), rank)
    failures: list[str] = []
    done: set[str] = set()
    for question in questions if share else []:
        only = ",".join(sorted(share - done))
        if not only:
            break
        answer = _ops.query("precompile", **question, **shared, num_threads=num_threads, only=only)
        for row in answer["kernels"]:
            done.add(row["request"])
            report.compiled += not row["cached"]
            if on_kernel:
                on_kernel(row)
        failures += [f"rank {rank}: {row['name']}: {row['error']}" for row in answer["failed"]]
    failures = [text for texts in _gather(failures, group) for text in texts]
    if failures:
        raise errors.Toolchain(
            f"deep_gemm.fleet: {len(failures)} kernels failed; the first on {failures[0]}"
        )
    if group is not None:
        _exchange(_missing(questions, shared, report), share, group, report)
    return report


def _exchange(missing: set[str], share: set[str], group: dist.ProcessGroup, report: Report) -> None:
    """Send what other ranks still lack, which is nothing where they share this rank's cache."""
    wanted = set().union(*_gather(missing, group))
    if not wanted:
        return
    offer = share & wanted
    for sent, data in _gather((offer, _pack(offer) if offer else b""), group):
        if missing & sent:
            report.received += len(missing & sent)
            _unpack(data)


def precompile_model(
    model: str,
    *,
    tensor_parallel: int = 1,
    arch: str | None = None,
    num_threads: int | None = None,
    group: dist.ProcessGroup | None = None,
) -> Report:
    """`precompile_linears` of a known model's shapes: see `MODELS`."""
    return precompile_linears(
        calls(model, tensor_parallel), arch=arch, num_threads=num_threads, group=group
    )
