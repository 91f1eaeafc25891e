"""Dense GEMMs: `{fp8,fp8_fp4,bf16}_gemm_{nt,nn,tn,tt}` under their published signatures.

fp8_gemm_nt((a, a_scale), (b, b_scale), d)                       # a [m, k], b [n, k]
fp8_gemm_nt((a, a_scale), (b, b_scale), d, recipe_a=(1, 32), recipe_b=(1, 32))
bf16_gemm_nt(a, b, d, c=d)                                       # accumulate in place
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .. import _eager
from ..epilogue import Epilogue
from ._args import Pair, factor, granularities, tupled

_LAYOUTS = ("nt", "nn", "tn", "tt")
_DEFAULT = (0, 0, 0, 0)
_TUPLES: dict[int, str | int] = {0: "a", 1: "b", 4: 4}
_GEMM = {
    **{f"fp8_gemm_{x}": _eager.operator(f"fp8_gemm_{x}", _TUPLES) for x in _LAYOUTS},
    **{f"bf16_gemm_{x}": _eager.operator(f"bf16_gemm_{x}") for x in _LAYOUTS},
}

__all__ = [
    "bf16_gemm_nn",
    "bf16_gemm_nt",
    "bf16_gemm_tn",
    "bf16_gemm_tt",
    "fp4_gemm_nt",
    "fp8_fp4_gemm_nn",
    "fp8_fp4_gemm_nt",
    "fp8_fp4_gemm_tn",
    "fp8_fp4_gemm_tt",
    "fp8_gemm_nn",
    "fp8_gemm_nt",
    "fp8_gemm_tn",
    "fp8_gemm_tt",
]


def _scaled_gemm(
    name: str,
    a: Pair,
    b: Pair,
    d: torch.Tensor,
    c: torch.Tensor | None,
    recipe: Sequence[int] | None,
    recipe_a: Sequence[int] | None,
    recipe_b: Sequence[int] | None,
    disable_ue8m0_cast: bool,
    alpha: float | None,
    epilogue: Epilogue | None,
) -> None:
    a, b = tupled(name, "a", a), tupled(name, "b", b)
    if recipe is None and recipe_a is None and recipe_b is None:
        grans = _DEFAULT
    else:
        grans = granularities(name, recipe, recipe_a, recipe_b)
    alpha = factor(name, d, alpha, epilogue)
    _GEMM[name](a, b, d, c, grans, disable_ue8m0_cast, alpha)


def _plain_gemm(
    name: str,
    a: torch.Tensor,
    b: torch.Tensor,
    d: torch.Tensor,
    c: torch.Tensor | None,
    alpha: float | None,
    epilogue: Epilogue | None,
) -> None:
    alpha = factor(name, d, alpha, epilogue)
    _GEMM[name](a, b, d, c, alpha)


def fp8_fp4_gemm_nt(
    a: Pair,
    b: Pair,
    d: torch.Tensor,
    c: torch.Tensor | None = None,
    recipe: Sequence[int] | None = None,
    recipe_a: Sequence[int] | None = None,
    recipe_b: Sequence[int] | None = None,
    compiled_dims: str = "nk",
    disable_ue8m0_cast: bool = False,
    alpha: float | None = None,
    epilogue: Epilogue | None = None,
) -> None:
    """d = alpha * (a @ b^T) + c for a [m, k], b [n, k], each `(data, scale)`.

    Data is float8_e4m3fn, or int8 with two FP4 values per byte. Scales are float32, one per
    (gran_m, gran_k) elements of a and (gran_n, gran_k) of b (default 1, 128, 128), or packed
    UE8M0 int32. d is bfloat16 or float32 [m, n] with contiguous rows; c has d's dtype and may be d.
    `compiled_dims` and `disable_ue8m0_cast` do not change the result.
    """
    _scaled_gemm(
        "fp8_gemm_nt", a, b, d, c, recipe, recipe_a, recipe_b, disable_ue8m0_cast, alpha, epilogue
    )  # fmt: skip


def fp8_fp4_gemm_nn(
    a: Pair,
    b: Pair,
    d: torch.Tensor,
    c: torch.Tensor | None = None,
    recipe: Sequence[int] | None = None,
    recipe_a: Sequence[int] | None = None,
    recipe_b: Sequence[int] | None = None,
    compiled_dims: str = "nk",
    disable_ue8m0_cast: bool = False,
    alpha: float | None = None,
    epilogue: Epilogue | None = None,
) -> None:
    """`fp8_fp4_gemm_nt` with b stored [k, n] and its scale transposed likewise."""
    _scaled_gemm(
        "fp8_gemm_nn", a, b, d, c, recipe, recipe_a, recipe_b, disable_ue8m0_cast, alpha, epilogue
    )  # fmt: skip


def fp8_fp4_gemm_tn(
    a: Pair,
    b: Pair,
    d: torch.Tensor,
    c: torch.Tensor | None = None,
    recipe: Sequence[int] | None = None,
    recipe_a: Sequence[int] | None = None,
    recipe_b: Sequence[int] | None = None,
    compiled_dims: str = "mn",
    disable_ue8m0_cast: bool = False,
    alpha: float | None = None,
    epilogue: Epilogue | None = None,
) -> None:
    """`fp8_fp4_gemm_nt` with a stored [k, m], b stored [k, n], scales transposed likewise."""
    _scaled_gemm(
        "fp8_gemm_tn", a, b, d, c, recipe, recipe_a, recipe_b, disable_ue8m0_cast, alpha, epilogue
    )  # fmt: skip


def fp8_fp4_gemm_tt(
    a: Pair,
    b: Pair,
    d: torch.Tensor,
    c: torch.Tensor | None = None,
    recipe: Sequence[int] | None = None,
    recipe_a: Sequence[int] | None = None,
    recipe_b: Sequence[int] | None = None,
    compiled_dims: str = "mn",
    disable_ue8m0_cast: bool = False,
    alpha: float | None = None,
    epilogue: Epilogue | None = None,
) -> None:
    """`fp8_fp4_gemm_nt` with a stored [k, m] and its scale transposed likewise."""
    _scaled_gemm(
        "fp8_gemm_tt", a, b, d, c, recipe, recipe_a, recipe_b, disable_ue8m0_cast, alpha, epilogue
    )  # fmt: skip


# The FP8 names are the same objects: one function serves every mix of FP8 and FP4 operands.
fp8_gemm_nt = fp8_fp4_gemm_nt
fp8_gemm_nn = fp8_fp4_gemm_nn
fp8_gemm_tn = fp8_fp4_gemm_tn
fp8_gemm_tt = fp8_fp4_gemm_tt
fp4_gemm_nt = fp8_fp4_gemm_nt


def bf16_gemm_nt(
    a: torch.Tensor,
    b: torch.Tensor,
    d: torch.Tensor,
    c: torch.Tensor | None = None,
    compiled_dims: str = "nk",
    alpha: float | None = None,
    epilogue: Epilogue | None = None,
) -> None:
    """d = alpha * (a @ b^T) + c for bfloat16 a [m, k], b [n, k]; d bfloat16 or float32.

    c has d's dtype and may be d itself. `compiled_dims` does not change the result.
    """
    _plain_gemm("bf16_gemm_nt", a, b, d, c, alpha, epilogue)


def bf16_gemm_nn(
    a: torch.Tensor,
    b: torch.Tensor,
    d: torch.Tensor,
    c: torch.Tensor | None = None,
    compiled_dims: str = "nk",
    alpha: float | None = None,
    epilogue: Epilogue | None = None,
) -> None:
    """`bf16_gemm_nt` with b stored [k, n]."""
    _plain_gemm("bf16_gemm_nn", a, b, d, c, alpha, epilogue)


def bf16_gemm_tn(
    a: torch.Tensor,
    b: torch.Tensor,
    d: torch.Tensor,
    c: torch.Tensor | None = None,
    compiled_dims: str = "mn",
    alpha: float | None = None,
    epilogue: Epilogue | None = None,
) -> None:
    """`bf16_gemm_nt` with a stored [k, m], b stored [k, n]."""
    _plain_gemm("bf16_gemm_tn", a, b, d, c, alpha, epilogue)


def bf16_gemm_tt(
    a: torch.Tensor,
    b: torch.Tensor,
    d: torch.Tensor,
    c: torch.Tensor | None = None,
    compiled_dims: str = "mn",
    alpha: float | None = None,
    epilogue: Epilogue | None = None,
) -> None:
    """`bf16_gemm_nt` with a stored [k, m]."""
    _plain_gemm("bf16_gemm_tt", a, b, d, c, alpha, epilogue)
