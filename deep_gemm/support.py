"""Questions about the package: what it supports, has compiled, and finds on this machine.

    ok, why = deep_gemm.supports("fp8_gemm_nt", (a, a_scale), (b, b_scale), d, arch="90a")
    deep_gemm.precompile("fp8_gemm_nt", n=2112, k=7168)
    deep_gemm.counters()["compiles"]

Tensors may be meta tensors; no GPU and no compiler are needed to ask. Answers come from the same
predicate that the launcher applies.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import torch

from . import _C, _absent, _ops, _packs, errors
from ._question import device_of_arch, question

__all__ = [
    "counters",
    "doctor",
    "features",
    "plan",
    "precompile",
    "reset_counters",
    "set_event_callback",
    "supports",
]

_FEATURES = (
    "alpha",
    "cpu",
    "fp4_operands",
    "host_jit",
    "packed_ue8m0_scales",
    "precompile",
    "supports",
    "torch_compile",
)


# Torch's own products: there is no plan to ask for, and nothing to compile.
_TORCH_MADE = (
    "batched_symm",
    "batched_syrk",
    "cublaslt_gemm_nn",
    "cublaslt_gemm_nt",
    "cublaslt_gemm_tn",
    "cublaslt_gemm_tt",
    "cublaslt_nvfp4_gemm_nt",
)
# Made of other operators, so that there is no plan to ask for.
_COMPOSED = (*_TORCH_MADE, "fp8_gemm_nt_skip_head_mid")


def _is_operator(op: str) -> bool:
    return op in _COMPOSED or any(schema.startswith(f"{op}(") for schema in _ops.query("schemas"))


def _on_meta(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="meta")
    return tuple(map(_on_meta, value)) if isinstance(value, (tuple, list)) else value


def _supports_composed(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, str]:
    """The call itself on tensors without data."""
    meta = {name: _on_meta(value) for name, value in kwargs.items()}
    try:
        getattr(_C, op)(*map(_on_meta, args), **meta)
    except (errors.Unsupported, errors.InvalidArgument) as error:
        return False, str(error)
    return True, ""


def supports(op: str, *args: Any, arch: str | None = None, **kwargs: Any) -> tuple[bool, str]:
    """(whether the call would run, why not).

    Arguments are those of the operator itself; without any the answer says whether the operator
    exists. `arch` asks about another machine: "90a" and the like for GPUs, "x86-64-v3" for CPUs.
    """
    if not _is_operator(op) or not hasattr(_C, op):
        return False, _absent.reason(op) or f"deep_gemm has no operator {op!r}"
    if not args and not kwargs:
        return True, ""
    if op in _COMPOSED:
        return _supports_composed(op, args, kwargs)
    try:
        answer = _ops.query("supports", **question(op, args, kwargs, arch))
    except (errors.Unsupported, errors.InvalidArgument) as error:
        return False, str(error)
    return bool(answer["ok"]), str(answer["reason"])


def plan(op: str, *args: Any, arch: str | None = None, **kwargs: Any) -> dict[str, str]:
    """How the call would run: {"plan": one line, "kernel", "source", "request": its digest}."""
    return _ops.query("plan", **question(op, args, kwargs, arch))


Sizes = int | Iterable[int]


def _list_of(sizes: Sizes | None) -> str | None:
    if sizes is None:
        return None
    return ",".join(str(size) for size in ([sizes] if isinstance(sizes, int) else sizes))


def precompile(
    op: str,
    n: Sizes | None = None,
    k: Sizes | None = None,
    *,
    dtypes: torch.dtype | Iterable[torch.dtype] | None = None,
    gran_k: Sizes | None = None,
    expr: str | None = None,
    heads: Sizes | None = None,
    head_dim: Sizes | None = None,
    block_kv: Sizes | None = None,
    next_n: Sizes | None = None,
    arch: str | None = None,
    num_threads: int | None = None,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Compile every kernel that `op` can pick for these sizes, whatever the others are.

    GEMMs, einsum and the hyper-connection product take n and k (of one group, of one batch) of
    contiguous tensors, whatever m is; logits take `heads`, `head_dim` and, where paged, `block_kv`
    and `next_n`. What is left out may be anything: without n and k the list has the kernels of
    every size, storage order and alignment. `op` "all" is every operator for any sizes.

    `dtypes` are those of the result (both when left out); `gran_k` are the granularities of the
    scales along k (those of the published recipes when left out, all of them for any size); `expr`
    is one expression of einsum. Allocates no tensors and needs no device when `arch` is given.

    The answer is {"kernels": [{"name", "request", "cached", "ms"}], "compiled", "failed"}: each
    kernel once, however many sizes share it; none for an operator that torch's own products make.
    With `dry_run` nothing is compiled, and `cached` says what would be. Raises Toolchain when a
    kernel fails, InvalidArgument for a size that the operator does not have.
    """
    if op in _TORCH_MADE:
        return {"kernels": [], "compiled": 0, "failed": []}
    if isinstance(dtypes, torch.dtype):
        dtypes = [dtypes]
    answer = _ops.query(
        "precompile",
        op=op,
        n=_list_of(n),
        k=_list_of(k),
        dtypes=None if dtypes is None else ",".join(str(dtype)[6:] for dtype in dtypes),
        gran_k=_list_of(gran_k),
        expr=expr,
        heads=_list_of(heads),
        head_dim=_list_of(head_dim),
        block_kv=_list_of(block_kv),
        next_n=_list_of(next_n),
        device=device_of_arch(arch),
        arch=arch,
        num_threads=num_threads,
        dry_run=int(dry_run) or None,
    )
    if answer.get("failed"):
        first = answer["failed"][0]
        raise errors.Toolchain(
            f"deep_gemm.precompile: {len(answer['failed'])} of {len(answer['kernels'])} kernels"
            f" failed; the first is {first['name']}:\n{first['error']}"
        )
    return answer


def counters() -> dict[str, float]:
    """Compiles, disk hits, memory hits and loads of this process, with their milliseconds."""
    return _ops.query("counters")


def reset_counters() -> dict[str, float]:
    """Set all counters to zero; returns what they were."""
    return _ops.query("counters_reset")


def set_event_callback(callback: Callable[[dict[str, Any]], None] | None) -> None:
    """Call `callback(event)` at each compile, hit and load, on the thread that did the work.

    An event is {"event", "name", "request", "ms"}; None clears.
    """
    if callback is None:
        _ops.set_callback(None)
        return

    def deliver(text: bytes) -> None:
        callback(json.loads(text.decode()))

    _ops.set_callback(deliver)


def features() -> tuple[str, ...]:
    """Names of what this version can do: its operators and a few capabilities, sorted."""
    names = {schema.partition("(")[0] for schema in _ops.query("schemas")}
    return tuple(sorted({name for name in names if hasattr(_C, name)} | set(_FEATURES)))


def doctor() -> dict[str, Any]:
    """What was found on this machine, what is missing and how to mend it; never compiles."""
    from ._version import __version__

    package = {
        "version": __version__,
        "torch": torch.__version__,
        "extension": str(_ops.EXTENSION),
        "namespace": _ops.NAMESPACE,
        "registration": _ops.query("owner"),
    }
    answer = {"package": package, **_ops.query("doctor")}
    packs = _packs.verdicts(answer["cache"]["packs"], __version__)
    answer["cache"]["packs"] = packs
    answer["cuda"] = _packs.serving(answer["cuda"], packs)
    return answer
