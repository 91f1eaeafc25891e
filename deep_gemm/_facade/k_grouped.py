"""GEMMs grouped along k: one product a group, as weight gradients of experts need.

k_grouped_fp8_gemm_nt_contiguous((a, a_scale), (b, b_scale), d, ks, grouped_layout, c)
k_grouped_bf16_gemm_tn_contiguous(a, b, d, ks, grouped_layout, c=d)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .. import _eager, errors
from ..epilogue import Epilogue
from ._args import Pair, factor, tupled

__all__ = [
    "k_grouped_bf16_gemm_tn_contiguous",
    "k_grouped_fp4_gemm_nt_contiguous",
    "k_grouped_fp8_gemm_nt_contiguous",
    "k_grouped_fp8_gemm_tn_contiguous",
]

_BF16 = "k_grouped_bf16_gemm_tn_contiguous"
_OPS = {name: _eager.operator(name, {} if name == _BF16 else {0: "a", 1: "b"}) for name in __all__}


def _sizes(op: str, ks_cpu: Any, ks: Any) -> torch.Tensor | None:
    """The sizes along k on the host, under either name; None and an empty list are none at all."""
    given = ks_cpu if ks is None else ks
    if given is None:
        return None
    if isinstance(given, torch.Tensor):
        return given
    if isinstance(given, (list, tuple)):
        # Why the device: a caller's default may be a GPU.
        return torch.tensor(list(given), dtype=torch.int64, device="cpu") if len(given) else None
    raise TypeError(
        errors.describe(
            op,
            "ks_cpu",
            f"a {type(given).__name__}",
            "K_SIZES_LIST",
            "sizes along k are a list of integers, or a vector in host memory",
            "pass ks_cpu=grouped_layout.tolist()",
        )
    )


def _need_layout(op: str, grouped_layout: torch.Tensor | None) -> torch.Tensor:
    # Why it has a default: what stands in front of it may be given as `ks`.
    if grouped_layout is None:
        raise TypeError(f"{op}() missing 1 required argument: 'grouped_layout'")
    return grouped_layout


def _options(
    op: str, d: torch.Tensor, use_padded_sf_layout: Any, epilogue: Epilogue | None
) -> float | None:
    # One generation of callers has the epilogue in the place of the other's flag.
    if isinstance(use_padded_sf_layout, Epilogue) and epilogue is None:
        use_padded_sf_layout, epilogue = False, use_padded_sf_layout
    if use_padded_sf_layout:
        raise errors.Unsupported(
            errors.describe(
                op,
                "use_padded_sf_layout",
                "True",
                "PADDED_SCALES",
                "scales of groups follow each other without gaps",
                "concatenate the scales of the groups and leave the flag out",
            )
        )
    return factor(op, d, None, epilogue)


def _scaled(
    name: str,
    a: Pair,
    b: Pair,
    d: torch.Tensor,
    sizes: torch.Tensor | None,
    grouped_layout: torch.Tensor | None,
    c: torch.Tensor | None,
    recipe: Sequence[int],
    use_psum_layout: bool,
    alpha: float | None,
) -> None:
    a, b = tupled(name, "a", a), tupled(name, "b", b)
    if len(recipe) != 3 or recipe[0] != 1 or recipe[1] != 1:
        raise errors.Unsupported(
            errors.describe(
                name,
                "recipe",
                f"{tuple(recipe)}",
                "K_GROUPED_RECIPE",
                "a scale covers one row of a or b, and 32, 64 or 128 of k",
                "quantise along k with gran_k=128 and pass recipe=(1, 1, 128)",
            )
        )
    _OPS[name](
        a, b, d, _need_layout(name, grouped_layout), sizes, c, recipe[2], use_psum_layout, alpha
    )  # fmt: skip


def k_grouped_fp8_gemm_nt_contiguous(
    a: Pair,
    b: Pair,
    d: torch.Tensor,
    ks_cpu: Sequence[int] | torch.Tensor | None = None,
    grouped_layout: torch.Tensor | None = None,
    c: torch.Tensor | None = None,
    recipe: Sequence[int] = (1, 1, 128),
    compiled_dims: str = "mn",
    use_psum_layout: bool = False,
    use_padded_sf_layout: bool = False,
    epilogue: Epilogue | None = None,
    *,
    ks: Sequence[int] | torch.Tensor | None = None,
) -> None:
    """d[g] = a_g @ b_g^T + c[g]; a holds for each group its block [m, k of g], one after the other.

    b likewise with n; any shape that is contiguous. Scales are [m, sum of k / 128] and [n, ...],
    of any strides, float32 or packed. d and c are contiguous [groups, m, n], float32 or bfloat16;
    c may be d, and None counts as zero. `ks_cpu` (or `ks`) and `grouped_layout` (int32, on the
    device) both hold k of each group, a multiple of the recipe's; 0 gives d[g] = c[g].
    """
    name = "k_grouped_fp8_gemm_nt_contiguous"
    alpha = _options(name, d, use_padded_sf_layout, epilogue)
    sizes = _sizes(name, ks_cpu, ks)
    _scaled(name, a, b, d, sizes, grouped_layout, c, recipe, use_psum_layout, alpha)


def k_grouped_fp8_gemm_tn_contiguous(
    a: Pair,
    b: Pair,
    d: torch.Tensor,
    ks_cpu: Sequence[int] | torch.Tensor | None = None,
    grouped_layout: torch.Tensor | None = None,
    c: torch.Tensor | None = None,
    recipe: Sequence[int] = (1, 1, 128),
    compiled_dims: str = "mn",
    use_psum_layout: bool = False,
    use_padded_sf_layout: bool = False,
    epilogue: Epilogue | None = None,
    *,
    ks: Sequence[int] | torch.Tensor | None = None,
) -> None:
    """d[g] = a_g^T @ b_g + c[g] for a [sum of k, m], b [sum of k, n]: group g has its rows.

    Scales are [rows, m] and [rows, n]: cdiv(k of g, 128) rows a group, back to back, float32, or
    packed with a new row of words for each group. With `use_psum_layout` `grouped_layout` holds the
    end of each group along k, starts are aligned, and `ks_cpu`, if given, holds rounded sizes.
    """
    name = "k_grouped_fp8_gemm_tn_contiguous"
    alpha = _options(name, d, use_padded_sf_layout, epilogue)
    sizes = _sizes(name, ks_cpu, ks)
    _scaled(name, a, b, d, sizes, grouped_layout, c, recipe, use_psum_layout, alpha)


def k_grouped_fp4_gemm_nt_contiguous(
    a: Pair,
    b: Pair,
    d: torch.Tensor,
    ks_cpu: Sequence[int] | torch.Tensor | None = None,
    grouped_layout: torch.Tensor | None = None,
    c: torch.Tensor | None = None,
    recipe: Sequence[int] = (1, 1, 32),
    compiled_dims: str = "mn",
    use_psum_layout: bool = False,
    epilogue: Epilogue | None = None,
    *,
    ks: Sequence[int] | torch.Tensor | None = None,
) -> None:
    """`k_grouped_fp8_gemm_tn_contiguous` with a [m, sum of k], b [n, sum of k], two FP4 a byte."""
    name = "k_grouped_fp4_gemm_nt_contiguous"
    alpha = _options(name, d, False, epilogue)
    sizes = _sizes(name, ks_cpu, ks)
    _scaled(name, a, b, d, sizes, grouped_layout, c, recipe, use_psum_layout, alpha)


def k_grouped_bf16_gemm_tn_contiguous(
    a: torch.Tensor,
    b: torch.Tensor,
    d: torch.Tensor,
    ks_cpu: Sequence[int] | torch.Tensor | None = None,
    grouped_layout: torch.Tensor | None = None,
    c: torch.Tensor | None = None,
    compiled_dims: str = "mn",
    use_psum_layout: bool = False,
    epilogue: Epilogue | None = None,
    *,
    ks: Sequence[int] | torch.Tensor | None = None,
) -> None:
    """`k_grouped_fp8_gemm_tn_contiguous` for bfloat16 a [sum of k, m], b [sum of k, n]."""
    name = "k_grouped_bf16_gemm_tn_contiguous"
    alpha = _options(name, d, False, epilogue)
    _OPS[name](
        a, b, d, _need_layout(name, grouped_layout), _sizes(name, ks_cpu, ks), c,
        use_psum_layout, alpha,
    )  # fmt: skip
