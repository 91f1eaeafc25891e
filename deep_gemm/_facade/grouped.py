"""GEMMs grouped along m: contiguous (index and psum layouts) and masked, FP8, FP4 and bf16.

m_grouped_fp8_gemm_nt_contiguous((a, a_scale), (b, b_scale), d, m_indices)
m_grouped_fp8_gemm_nt_contiguous(lhs, rhs, d, ends, use_psum_layout=True)
m_grouped_bf16_gemm_nt_masked(a, b, d, masked_m, expected_m)
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .. import _eager, errors
from ..epilogue import Epilogue
from ._args import Pair, factor, granularities, tupled

__all__ = [
    "bf16_m_grouped_gemm_nt_masked",
    "fp8_m_grouped_gemm_nt_masked",
    "m_grouped_bf16_gemm_nn_contiguous",
    "m_grouped_bf16_gemm_nt_contiguous",
    "m_grouped_bf16_gemm_nt_masked",
    "m_grouped_fp4_gemm_nt_contiguous",
    "m_grouped_fp4_gemm_nt_masked",
    "m_grouped_fp8_fp4_gemm_nn_contiguous",
    "m_grouped_fp8_fp4_gemm_nt_contiguous",
    "m_grouped_fp8_fp4_gemm_nt_masked",
    "m_grouped_fp8_gemm_nn_contiguous",
    "m_grouped_fp8_gemm_nt_contiguous",
    "m_grouped_fp8_gemm_nt_masked",
]

_BF16 = (
    "m_grouped_bf16_gemm_nn_contiguous",
    "m_grouped_bf16_gemm_nt_contiguous",
    "m_grouped_bf16_gemm_nt_masked",
)
_CONTIGUOUS = ("m_grouped_fp8_gemm_nn_contiguous", "m_grouped_fp8_gemm_nt_contiguous")
_MASKED = "m_grouped_fp8_gemm_nt_masked"
_OPS = {
    **{name: _eager.operator(name) for name in _BF16},
    **{name: _eager.operator(name, {0: "a", 1: "b", 4: 4}) for name in _CONTIGUOUS},
    _MASKED: _eager.operator(_MASKED, {0: "a", 1: "b", 5: 4}),
}
_DEFAULT = (0, 0, 0, 0)


def _refuse_expected_m(op: str, use_psum_layout: bool, expected_m: int | None) -> None:
    if expected_m is not None and not use_psum_layout:
        raise errors.InvalidArgument(
            errors.describe(
                op,
                "expected_m_for_psum_layout",
                f"{expected_m} with use_psum_layout=False",
                "EXPECTED_M_PSUM",
                "the expected rows of a group go with the psum layout alone",
                "leave it out, or pass use_psum_layout=True",
            )
        )


def _scaled_contiguous(
    name: str,
    a: Pair,
    b: Pair,
    d: torch.Tensor,
    grouped_layout: torch.Tensor,
    recipe: Sequence[int] | None,
    recipe_a: Sequence[int] | None,
    recipe_b: Sequence[int] | None,
    disable_ue8m0_cast: bool,
    use_psum_layout: bool,
    ensure_zero_padding: bool,
    epilogue: Epilogue | None,
) -> None:
    a, b = tupled(name, "a", a), tupled(name, "b", b)
    if recipe is None and recipe_a is None and recipe_b is None:
        grans = _DEFAULT
    else:
        grans = granularities(name, recipe, recipe_a, recipe_b)
    alpha = factor(name, d, None, epilogue)
    _OPS[name](
        a, b, d, grouped_layout, grans, disable_ue8m0_cast, use_psum_layout, ensure_zero_padding,
        alpha,
    )  # fmt: skip


def m_grouped_fp8_fp4_gemm_nt_contiguous(
    a: Pair,
    b: Pair,
    d: torch.Tensor,
    grouped_layout: torch.Tensor,
    recipe: Sequence[int] | None = None,
    recipe_a: Sequence[int] | None = None,
    recipe_b: Sequence[int] | None = None,
    compiled_dims: str = "nk",
    disable_ue8m0_cast: bool = False,
    use_psum_layout: bool = False,
    ensure_zero_padding: bool = True,
    expected_m_for_psum_layout: int | None = None,
    epilogue: Epilogue | None = None,
) -> None:
    """d[row] = a[row] @ b[group of row]^T for a [m, k], b [groups, n, k], each `(data, scale)`.

    Index layout: `grouped_layout` int32 [m] holds the group of each row, or -1 for padding, and
    each tile of `get_mk_alignment_for_contiguous_layout()` rows has one group. psum layout: int32
    [groups] holds the end row of each group, and each group starts at the next multiple of that
    alignment. Padding of a may hold anything. All rows of d are written, except those at or past
    the last aligned end of a psum layout, and in its gaps with `ensure_zero_padding=False`; what
    padding becomes is zero if a is zero there, otherwise unspecified, but zero in a half tile of 64
    rows that begins with -1. Data, scales and recipes as in `fp8_fp4_gemm_nt`. `compiled_dims`,
    `disable_ue8m0_cast` and `expected_m_for_psum_layout` change no result.
    """
    name = "m_grouped_fp8_gemm_nt_contiguous"
    _refuse_expected_m(name, use_psum_layout, expected_m_for_psum_layout)
    _scaled_contiguous(
        name, a, b, d, grouped_layout, recipe, recipe_a, recipe_b, disable_ue8m0_cast,
        use_psum_layout, ensure_zero_padding, epilogue,
    )  # fmt: skip


def m_grouped_fp8_fp4_gemm_nn_contiguous(
    a: Pair,
    b: Pair,
    d: torch.Tensor,
    grouped_layout: torch.Tensor,
    recipe: Sequence[int] | None = None,
    recipe_a: Sequence[int] | None = None,
    recipe_b: Sequence[int] | None = None,
    compiled_dims: str = "nk",
    disable_ue8m0_cast: bool = False,
    use_psum_layout: bool = False,
    ensure_zero_padding: bool = True,
    epilogue: Epilogue | None = None,
) -> None:
    """`m_grouped_fp8_fp4_gemm_nt_contiguous` with b [groups, k, n], its scale likewise."""
    _scaled_contiguous(
        "m_grouped_fp8_gemm_nn_contiguous", a, b, d, grouped_layout, recipe, recipe_a, recipe_b,
        disable_ue8m0_cast, use_psum_layout, ensure_zero_padding, epilogue,
    )  # fmt: skip


def m_grouped_fp8_fp4_gemm_nt_masked(
    a: Pair,
    b: Pair,
    d: torch.Tensor,
    masked_m: torch.Tensor,
    expected_m: int,
    recipe: Sequence[int] | None = None,
    recipe_a: Sequence[int] | None = None,
    recipe_b: Sequence[int] | None = None,
    compiled_dims: str = "nk",
    disable_ue8m0_cast: bool = False,
    epilogue: Epilogue | None = None,
) -> None:
    """d[g, :masked_m[g]] = a[g, :masked_m[g]] @ b[g]^T for a [groups, m, k], b [groups, n, k].

    `masked_m` is int32 [groups]; no other row of d is touched. Data, scales and recipes as in
    `fp8_fp4_gemm_nt`. `expected_m`, `compiled_dims` and `disable_ue8m0_cast` change no result.
    """
    name = "m_grouped_fp8_gemm_nt_masked"
    a, b = tupled(name, "a", a), tupled(name, "b", b)
    if recipe is None and recipe_a is None and recipe_b is None:
        grans = _DEFAULT
    else:
        grans = granularities(name, recipe, recipe_a, recipe_b)
    alpha = factor(name, d, None, epilogue)
    _OPS[name](a, b, d, masked_m, expected_m, grans, disable_ue8m0_cast, alpha)


# The FP8 and FP4 names are the same objects: one function serves every mix of operands.
m_grouped_fp8_gemm_nt_contiguous = m_grouped_fp8_fp4_gemm_nt_contiguous
m_grouped_fp8_gemm_nn_contiguous = m_grouped_fp8_fp4_gemm_nn_contiguous
m_grouped_fp8_gemm_nt_masked = m_grouped_fp8_fp4_gemm_nt_masked
m_grouped_fp4_gemm_nt_contiguous = m_grouped_fp8_fp4_gemm_nt_contiguous
m_grouped_fp4_gemm_nt_masked = m_grouped_fp8_fp4_gemm_nt_masked
fp8_m_grouped_gemm_nt_masked = m_grouped_fp8_fp4_gemm_nt_masked


def _bf16_contiguous(
    name: str,
    a: torch.Tensor,
    b: torch.Tensor,
    d: torch.Tensor,
    grouped_layout: torch.Tensor,
    use_psum_layout: bool,
    ensure_zero_padding: bool,
    epilogue: Epilogue | None,
) -> None:
    alpha = factor(name, d, None, epilogue)
    _OPS[name](a, b, d, grouped_layout, use_psum_layout, ensure_zero_padding, alpha)


def m_grouped_bf16_gemm_nt_contiguous(
    a: torch.Tensor,
    b: torch.Tensor,
    d: torch.Tensor,
    grouped_layout: torch.Tensor,
    compiled_dims: str = "nk",
    use_psum_layout: bool = False,
    ensure_zero_padding: bool = True,
    expected_m_for_psum_layout: int | None = None,
    epilogue: Epilogue | None = None,
) -> None:
    """`m_grouped_fp8_fp4_gemm_nt_contiguous` for bfloat16 a [m, k], b [groups, n, k]."""
    name = "m_grouped_bf16_gemm_nt_contiguous"
    _refuse_expected_m(name, use_psum_layout, expected_m_for_psum_layout)
    _bf16_contiguous(
        name, a, b, d, grouped_layout, use_psum_layout, ensure_zero_padding, epilogue
    )  # fmt: skip


def m_grouped_bf16_gemm_nn_contiguous(
    a: torch.Tensor,
    b: torch.Tensor,
    d: torch.Tensor,
    grouped_layout: torch.Tensor,
    compiled_dims: str = "nk",
    use_psum_layout: bool = False,
    ensure_zero_padding: bool = True,
    epilogue: Epilogue | None = None,
) -> None:
    """`m_grouped_bf16_gemm_nt_contiguous` with b stored [groups, k, n]."""
    _bf16_contiguous(
        "m_grouped_bf16_gemm_nn_contiguous", a, b, d, grouped_layout, use_psum_layout,
        ensure_zero_padding, epilogue,
    )  # fmt: skip


def m_grouped_bf16_gemm_nt_masked(
    a: torch.Tensor,
    b: torch.Tensor,
    d: torch.Tensor,
    masked_m: torch.Tensor,
    expected_m: int,
    compiled_dims: str = "nk",
    epilogue: Epilogue | None = None,
) -> None:
    """`m_grouped_fp8_fp4_gemm_nt_masked` for bfloat16 a [groups, m, k], b [groups, n, k]."""
    name = "m_grouped_bf16_gemm_nt_masked"
    alpha = factor(name, d, None, epilogue)
    _OPS[name](a, b, d, masked_m, expected_m, alpha)


bf16_m_grouped_gemm_nt_masked = m_grouped_bf16_gemm_nt_masked
