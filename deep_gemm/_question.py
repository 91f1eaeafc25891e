"""A call of an operator as the lines of a question, which `supports` and `plan` send to C++.

    question("fp8_gemm_nt", ((a, a_scale), (b, b_scale), d), {}, "90a")
    # {"op": "fp8_gemm_nt", "arch": "90a", "device": "cuda", "a": "float8_e4m3fn:8x512:512x1", ...}

The form of a line is in csrc/control.h, its keys in csrc/described_<family>.cpp.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch

from . import _C
from ._facade import _args
from ._facade import gate as _gate
from ._facade import logits as _logits
from ._facade import sparse_logits as _sparse_logits

__all__ = ["device_of_arch", "question"]


def _facts(tensor: torch.Tensor) -> str:
    sizes = "x".join(str(int(size)) for size in tensor.shape)
    strides = "x".join(str(int(stride)) for stride in tensor.stride())
    device = "" if tensor.device.type == "meta" else f":{tensor.device}"
    return f"{str(tensor.dtype)[6:]}:{sizes}:{strides}{device}"


def device_of_arch(arch: str | None) -> str | None:
    """The back end of an arch by name; None: of this machine."""
    return None if arch is None else ("cuda" if arch[:1].isdigit() else "cpu")


def _lines_of(op: str, name: str, value: Any) -> dict[str, object]:
    """One argument of a call as lines of a question; strings and Nones say nothing."""
    if value is None or isinstance(value, str):
        return {}
    if isinstance(value, torch.Tensor):
        return {name: _facts(value)}
    if isinstance(value, (bool, int)):
        return {name: int(value)}
    if isinstance(value, (tuple, list)) and any(isinstance(x, torch.Tensor) for x in value):
        data, scale = _args.pair(op, name, value)
        return {name: _facts(data), f"{name}_scale": _facts(scale)}
    if isinstance(value, (tuple, list)):
        return {name: "x".join(str(int(x)) for x in value)}
    return {name: value}


def _described(op: str, given: dict[str, Any]) -> dict[str, Any] | None:
    """The call by the keys of its family; None: they are the arguments."""
    if op.endswith("sparse_mqa_logits"):
        return _sparse_logits.described(op, given)
    if op.endswith("sparse_mqa_logits_metadata"):
        return _sparse_logits.described_metadata(op, given)
    if op.endswith("mqa_logits"):
        return _logits.described(op, given)
    return _gate.described(given) if op == "bf16_mega_gate" else None


def _described_lines(described: dict[str, Any], arch: str | None) -> dict[str, object]:
    """Tensors as facts: of another machine, wherever they lie now."""
    lines: dict[str, object] = {}
    for name, value in described.items():
        if isinstance(value, torch.Tensor):
            facts = _facts(value)
            lines[name] = facts if arch is None else ":".join(facts.split(":")[:3])
        elif value is not None:
            lines[name] = value
    return lines


def question(
    op: str, args: tuple[Any, ...], kwargs: dict[str, Any], arch: str | None
) -> dict[str, object]:
    """The call as the lines of a `supports` question; raises what the facade itself would raise."""
    call = inspect.signature(getattr(_C, op)).bind(*args, **kwargs)
    call.apply_defaults()
    given = dict(call.arguments)
    lines: dict[str, object] = {"op": op, "arch": arch, "device": device_of_arch(arch)}
    if op == "einsum" and given["expr"] == "bmk,bnk->mn":
        lines["op"] = "bf16_gemm_nt"  # as the facade does it: a longer sum over k
        for name in ("a", "b"):
            batch, rows, k = given.pop(name).shape
            device = "" if given["d"].device.type == "meta" else f":{given['d'].device}"
            lines[name] = f"bfloat16:{rows}x{batch * k}:{batch * k}x1{device}"
        given.pop("expr")
    if op.endswith("einsum"):
        lines["expr"] = given.pop("expr", None)
        given.pop("use_cublaslt", None)
    if (described := _described(op, given)) is not None:
        return lines | _described_lines(described, arch)
    if "recipe" in given:
        for name in ("a", "b"):
            _args.pair(op, name, given[name])
        recipes = [given.pop(name, None) for name in ("recipe", "recipe_a", "recipe_b")]
        if any(recipe is not None for recipe in recipes):
            grans = _args.granularities(op, *recipes)
            lines |= dict(zip(("gran_m", "gran_n", "gran_k_a", "gran_k_b"), grans, strict=True))
    if "epilogue" in given:
        alpha = given.pop("alpha", None)
        lines["alpha"] = _args.factor(op, given["d"], alpha, given.pop("epilogue"))
    for name, value in given.items():
        lines |= _lines_of(op, name, value)
    if "ks" in lines:
        lines["ks_cpu"] = lines.pop("ks")
    if arch is not None:
        # A question about another machine: where the tensors lie now does not matter.
        for name, line in lines.items():
            if isinstance(line, str) and line.count(":") >= 2:
                lines[name] = ":".join(line.split(":")[:3])
    return lines
