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

__all__ = ["MODELS", "Linear", "Report", "linears", "precompile_linears", "precompile_model"]

_FP8, _BF16 = "fp8_gemm_nt", "bf16_gemm_nt"
_GROUPED = "m_grouped_fp8_gemm_nt_contiguous"
_MASKED = "m_grouped_fp8_gemm_nt_masked"


@dataclasses.dataclass(frozen=True)
class Linear:
    """One matrix of a model: the operator that multiplies by it, its n x k, and how ranks split it.

    `split` names the dimension that tensor parallelism divides: "n", "k", or "" for none.
    """

    layer: str
    op: str
    n: int
    k: int
    split: str = ""

    def of_rank(self, tensor_parallel: int) -> Linear:
        """What one of `tensor_parallel` ranks holds; whole where the sizes do not divide."""
        n = self.n // tensor_parallel if self.split == "n" else self.n
        k = self.k // tensor_parallel if self.split == "k" else self.k
        divides = {"n": self.n, "k": self.k}.get(self.split, 0) % tensor_parallel == 0
        return dataclasses.replace(self, n=n, k=k) if divides else self


def _experts(hidden: int, inner: int) -> tuple[Linear, ...]:
    return tuple(
        Linear(f"experts.{name}", op, n, k)
        for op in (_GROUPED, _MASKED)
        for name, n, k in (("gate_up", 2 * inner, hidden), ("down", hidden, inner))
    )


_DEEPSEEK_V3 = (
    Linear("attention.q_a_kv_a", _FP8, 2112, 7168),
    Linear("attention.kv_a", _FP8, 576, 7168),
    Linear("attention.q_b", _FP8, 24576, 1536, "n"),
    Linear("attention.kv_b", _FP8, 32768, 512, "n"),
    Linear("attention.o", _FP8, 7168, 16384, "k"),
    Linear("dense.gate_up", _FP8, 36864, 7168, "n"),
    Linear("dense.down", _FP8, 7168, 18432, "k"),
    Linear("shared_expert.gate_up", _FP8, 4096, 7168, "n"),
    Linear("shared_expert.down", _FP8, 7168, 2048, "k"),
    Linear("router", _BF16, 256, 7168),
    *_experts(7168, 2048),
)


def _qwen3_moe(hidden: int, heads: int, kv_heads: int, inner: int) -> tuple[Linear, ...]:
    head_dim, num_experts = 128, 128
    return (
        Linear("attention.qkv", _FP8, (heads + 2 * kv_heads) * head_dim, hidden, "n"),
        Linear("attention.o", _FP8, hidden, heads * head_dim, "k"),
        Linear("router", _BF16, num_experts, hidden),
        *_experts(hidden, inner),
    )


MODELS: dict[str, tuple[Linear, ...]] = {
    "deepseek-v3": _DEEPSEEK_V3,
    "deepseek-v3.2": (
        *_DEEPSEEK_V3,
        Linear("indexer.q_b", _FP8, 8192, 1536),
        Linear("indexer.k", _FP8, 128, 7168),
        Linear("indexer.weights", _BF16, 64, 7168),
    ),
    "qwen3-235b-a22b": _qwen3_moe(hidden=4096, heads=64, kv_heads=4, inner=1536),
    "qwen3-30b-a3b": _qwen3_moe(hidden=2048, heads=32, kv_heads=4, inner=768),
}


def linears(model: str, tensor_parallel: int = 1) -> tuple[Linear, ...]:
    """The matrices of one rank; experts are whole, since expert parallelism splits their number."""
    if model not in MODELS:
        known = ", ".join(sorted(MODELS))
        raise errors.InvalidArgument(
            errors.describe(
                "fleet", "model", repr(model), "KNOWN_MODEL", f"one of {known}",
                "pass your own list to precompile_linears",
            )
        )  # fmt: skip
    return tuple(one.of_rank(tensor_parallel) for one in MODELS[model])


@dataclasses.dataclass
class Report:
    """What was done, on this rank and in all."""

    kernels: int = 0  # that the shapes need
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


def _questions(shapes: Iterable[Linear], report: Report) -> list[dict[str, Any]]:
    """One `precompile` question per operator that this build has."""
    by_op: dict[str, set[tuple[int, int]]] = {}
    for one in shapes:
        by_op.setdefault(one.op, set()).add((one.n, one.k))
    questions: list[dict[str, Any]] = []
    for op, sizes in by_op.items():
        exists, why = support.supports(op)
        if not exists:
            report.skipped[op] = why
            continue
        questions += [{"op": op, "n": n, "k": k} for n, k in sorted(sizes)]
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
    shapes: Iterable[Linear],
    *,
    arch: str | None = None,
    num_threads: int | None = None,
    group: dist.ProcessGroup | None = None,
    on_kernel: Callable[[dict[str, Any]], None] | None = None,
) -> Report:
    """Bring every kernel of `shapes` into this rank's cache.

    With `group`, a collective: every rank of it calls, and all raise Toolchain when a kernel fails
    anywhere. Operators that this build lacks are in `Report.skipped`. `on_kernel` is called with
    each row that this rank compiled.
    """
    report = Report()
    device = support.device_of_arch(arch)
    shared: dict[str, Any] = {"arch": arch, "device": device}
    questions = _questions(shapes, report)
    rank = 0 if group is None else dist.get_rank(group)
    share = _share(_gather(_missing(questions, shared, report), group), rank)
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
        linears(model, tensor_parallel), arch=arch, num_threads=num_threads, group=group
    )
