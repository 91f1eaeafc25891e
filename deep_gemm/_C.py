"""The facade: every published operator under its published signature.

    fp8_gemm_nt((a, a_scale), (b, b_scale), d)                       # a [m, k], b [n, k]
    fp8_gemm_nt((a, a_scale), (b, b_scale), d, recipe_a=(1, 32), recipe_b=(1, 32))
    bf16_gemm_nt(a, b, d, c=d)                                       # accumulate in place

It serves both generations of the interface (positional order and keywords), takes `(tensor,
scale)` pairs apart, flattens recipes and re-raises errors of the C++ side typed. Shapes, dtypes,
strides and devices are checked there, once; the definition of right is `deep_gemm.reference`.

Longer than usual: every published signature is spelled out, since callers read it here.
"""

# ruff: noqa: N999  (the published name of this module)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from . import _fake, _ops, errors
from .epilogue import Epilogue
from .knobs import (
    get_deterministic_algorithms,
    get_k_alignment_for_contiguous_layout,
    get_m_alignment_for_contiguous_layout,
    get_mk_alignment_for_contiguous_layout,
    get_num_sms,
    get_pdl,
    get_tc_util,
    get_theoretical_mk_alignment_for_contiguous_layout,
    set_block_size_multiple_of,
    set_ignore_compile_dims,
    set_mk_alignment_for_contiguous_layout,
    set_num_sms,
    set_pdl,
    set_tc_util,
    shutdown,
    use_deterministic_algorithms,
)
from .utils.layout import (
    get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor,
    get_mn_major_tma_aligned_packed_ue8m0_tensor,
    get_mn_major_tma_aligned_tensor,
    get_tma_aligned_size,
    transform_sf_into_required_layout,
)

__all__ = [
    "bf16_gemm_nn",
    "bf16_gemm_nt",
    "bf16_gemm_tn",
    "bf16_gemm_tt",
    "fp8_fp4_gemm_nn",
    "fp8_fp4_gemm_nt",
    "fp8_fp4_gemm_tn",
    "fp8_fp4_gemm_tt",
    "fp8_gemm_nn",
    "fp8_gemm_nt",
    "fp8_gemm_tn",
    "fp8_gemm_tt",
    "get_deterministic_algorithms",
    "get_jit",
    "get_k_alignment_for_contiguous_layout",
    "get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor",
    "get_m_alignment_for_contiguous_layout",
    "get_mk_alignment_for_contiguous_layout",
    "get_mn_major_tma_aligned_packed_ue8m0_tensor",
    "get_mn_major_tma_aligned_tensor",
    "get_num_sms",
    "get_pdl",
    "get_tc_util",
    "get_theoretical_mk_alignment_for_contiguous_layout",
    "get_tma_aligned_size",
    "init",
    "set_block_size_multiple_of",
    "set_ignore_compile_dims",
    "set_mk_alignment_for_contiguous_layout",
    "set_num_sms",
    "set_pdl",
    "set_tc_util",
    "shutdown",
    "transform_sf_into_required_layout",
    "use_deterministic_algorithms",
]

_fake.register(_ops.NAMESPACE)

Pair = Sequence[torch.Tensor]

_FP8_GEMM = {layout: _ops.op(f"fp8_gemm_{layout}") for layout in ("nt", "nn", "tn", "tt")}
_BF16_GEMM = {layout: _ops.op(f"bf16_gemm_{layout}") for layout in ("nt", "nn", "tn", "tt")}


def _pair_error(op: str, argument: str, given: object) -> TypeError:
    if isinstance(given, torch.Tensor):
        what = f"a bare {str(given.dtype)[6:]} tensor of shape {tuple(given.shape)}"
    elif isinstance(given, (tuple, list)):
        what = f"a {type(given).__name__} of ({', '.join(type(x).__name__ for x in given)})"
    else:
        what = f"a {type(given).__name__}"
    return TypeError(
        errors.describe(
            op,
            argument,
            what,
            "SCALED_PAIR",
            "a scaled operand is a tuple or list of two tensors, (data, scale)",
            f"pass {argument}=(data, scale), for example from per_token_cast_to_fp8",
        )
    )


def _pair(op: str, argument: str, given: Any) -> tuple[torch.Tensor, torch.Tensor]:
    if isinstance(given, (tuple, list)) and len(given) == 2:
        data, scale = given
        if isinstance(data, torch.Tensor) and isinstance(scale, torch.Tensor):
            return data, scale
    raise _pair_error(op, argument, given)


def _granularities(
    op: str,
    recipe: Sequence[int] | None,
    recipe_a: Sequence[int] | None,
    recipe_b: Sequence[int] | None,
) -> tuple[int, int, int, int]:
    """(gran_m, gran_n, gran_k of a, gran_k of b); zeros ask for the default recipe."""
    if recipe is not None and recipe_a is None and recipe_b is None and len(recipe) == 3:
        return recipe[0], recipe[1], recipe[2], recipe[2]
    both = recipe is None and recipe_a is not None and recipe_b is not None
    if both and len(recipe_a) == len(recipe_b) == 2:
        return recipe_a[0], recipe_b[0], recipe_a[1], recipe_b[1]
    raise errors.InvalidArgument(
        errors.describe(
            op,
            "recipe",
            f"recipe={recipe}, recipe_a={recipe_a}, recipe_b={recipe_b}",
            "RECIPE_FORM",
            "either recipe=(gran_m, gran_n, gran_k), or recipe_a=(gran_m, gran_k) together with "
            "recipe_b=(gran_n, gran_k), or none of them",
            "pass recipe alone, or both recipe_a and recipe_b",
        )
    )


def _factor(op: str, d: object, alpha: float | None, epilogue: Epilogue | None) -> float | None:
    """The factor that alpha or an epilogue asks for; refuses what does not work here."""
    if not isinstance(d, torch.Tensor):
        if isinstance(d, (tuple, list)):
            raise errors.Unsupported(
                errors.describe(
                    op,
                    "d",
                    f"a {type(d).__name__} of {len(d)}",
                    "OUTPUT_FP8",
                    "an FP8 output (data, scale) is not in this version",
                    "pass a bfloat16 or float32 tensor and quantise it afterwards",
                )
            )
        raise TypeError(
            errors.describe(
                op, "d", f"a {type(d).__name__}", "OUTPUT_TENSOR", "d is written in place",
                "pass a bfloat16 or float32 tensor",
            )
        )  # fmt: skip
    if epilogue is None:
        return alpha
    if alpha is not None or not isinstance(epilogue, Epilogue):
        raise errors.InvalidArgument(
            errors.describe(
                op,
                "epilogue",
                f"{type(epilogue).__name__} with alpha={alpha}",
                "ONE_EPILOGUE",
                "at most one of alpha and epilogue, the latter from deep_gemm.epilogue",
                "pass epilogue=deep_gemm.epilogue.Alpha(alpha) alone",
            )
        )
    return epilogue.alpha


def _scaled_gemm(
    layout: str,
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
    name = f"fp8_gemm_{layout}"
    a_data, a_scale = _pair(name, "a", a)
    b_data, b_scale = _pair(name, "b", b)
    if recipe is None and recipe_a is None and recipe_b is None:
        grans = (0, 0, 0, 0)
    else:
        grans = _granularities(name, recipe, recipe_a, recipe_b)
    alpha = _factor(name, d, alpha, epilogue)
    try:
        _FP8_GEMM[layout](
            a_data, a_scale, b_data, b_scale, d, c, *grans, disable_ue8m0_cast, alpha
        )  # fmt: skip
    except RuntimeError as error:
        raise errors.retyped(error) from None


def _plain_gemm(
    layout: str,
    a: torch.Tensor,
    b: torch.Tensor,
    d: torch.Tensor,
    c: torch.Tensor | None,
    alpha: float | None,
    epilogue: Epilogue | None,
) -> None:
    alpha = _factor(f"bf16_gemm_{layout}", d, alpha, epilogue)
    try:
        _BF16_GEMM[layout](a, b, d, c, alpha)
    except RuntimeError as error:
        raise errors.retyped(error) from None


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
        "nt", a, b, d, c, recipe, recipe_a, recipe_b, disable_ue8m0_cast, alpha, epilogue
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
        "nn", a, b, d, c, recipe, recipe_a, recipe_b, disable_ue8m0_cast, alpha, epilogue
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
        "tn", a, b, d, c, recipe, recipe_a, recipe_b, disable_ue8m0_cast, alpha, epilogue
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
        "tt", a, b, d, c, recipe, recipe_a, recipe_b, disable_ue8m0_cast, alpha, epilogue
    )  # fmt: skip


# The FP8 names are the same objects: one function serves every mix of FP8 and FP4 operands.
fp8_gemm_nt = fp8_fp4_gemm_nt
fp8_gemm_nn = fp8_fp4_gemm_nn
fp8_gemm_tn = fp8_fp4_gemm_tn
fp8_gemm_tt = fp8_fp4_gemm_tt


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
    _plain_gemm("nt", a, b, d, c, alpha, epilogue)


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
    _plain_gemm("nn", a, b, d, c, alpha, epilogue)


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
    _plain_gemm("tn", a, b, d, c, alpha, epilogue)


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
    _plain_gemm("tt", a, b, d, c, alpha, epilogue)


class JitHandle:
    """Opaque handle of the existing JIT runtime of this copy; `address` identifies it."""

    __slots__ = ("address",)

    def __init__(self, address: int) -> None:
        self.address = address

    def __repr__(self) -> str:
        return f"<deep_gemm JIT at {self.address:#x}>"


_jit_handle: JitHandle | None = None


def get_jit() -> JitHandle:
    """The handle of the runtime that compiles this copy's kernels: the same object every time."""
    global _jit_handle
    if _jit_handle is None:
        answer = _ops.query("jit_handle")
        _jit_handle = JitHandle(int(answer["address"] if isinstance(answer, dict) else answer))
    return _jit_handle


def init(library_root: str, cuda_home: str | None = None) -> None:
    """Point the extension at another package root; done at import, kept for callers."""
    _ops.init(library_root)
