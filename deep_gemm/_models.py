"""What known models multiply: the matrices, and the other operators that are compiled for them.

for one in calls("deepseek-v3.2", tensor_parallel=8):
    deep_gemm.precompile(**one.question())

Leaves compiling to fleet.py.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from . import errors

__all__ = ["LOGITS", "MODELS", "Linear", "Logits", "calls", "linears"]

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

    @property
    def size(self) -> str:
        return f"{self.n} x {self.k}"

    def question(self) -> dict[str, Any]:
        """What `precompile` is asked."""
        return {"op": self.op, "n": self.n, "k": self.k}


@dataclasses.dataclass(frozen=True)
class Logits:
    """Indexer logits of a model, or (without heads) the schedule of paged ones."""

    layer: str
    op: str
    heads: int = 0
    head_dim: int = 0
    block_kv: int = 0  # 0: not paged
    next_n: tuple[int, ...] = ()

    @property
    def size(self) -> str:
        if not self.heads:
            return "any"
        page = f", pages of {self.block_kv}" if self.block_kv else ""
        return f"{self.heads} heads of {self.head_dim}{page}"

    def question(self) -> dict[str, Any]:
        """What `precompile` is asked."""
        sizes = {
            "heads": self.heads,
            "head_dim": self.head_dim,
            "block_kv": self.block_kv,
            "next_n": ",".join(map(str, self.next_n)),
        }
        return {"op": self.op, **{name: size for name, size in sizes.items() if size}}


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


# One query a request, and two to four with speculative decoding.
_INDEXER = (
    Logits("indexer.logits", "fp8_mqa_logits", 64, 128),
    Logits("indexer.paged_logits", "fp8_paged_mqa_logits", 64, 128, 64, (1, 2, 3, 4)),
    Logits("indexer.schedule", "get_paged_mqa_logits_metadata"),
)
LOGITS: dict[str, tuple[Logits, ...]] = {"deepseek-v3.2": _INDEXER}


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


def calls(model: str, tensor_parallel: int = 1) -> tuple[Linear | Logits, ...]:
    """The matrices of one rank, and what else of the model is compiled."""
    return (*linears(model, tensor_parallel), *LOGITS.get(model, ()))
