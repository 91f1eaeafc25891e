"""What facades share: recipes flattened, epilogues read.

    gran_m, gran_n, gran_k_a, gran_k_b = granularities("fp8_gemm_nt", recipe, recipe_a, recipe_b)

Refusals have the five parts of every error here. Shapes, dtypes, strides and devices are left to
the checks of the C++ side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .. import errors
from .._pairs import Pair, pair
from ..epilogue import Epilogue

__all__ = ["Pair", "factor", "granularities", "pair", "tupled"]


def tupled(op: str, argument: str, given: Any) -> Any:
    """A pair as a tuple, which its operator takes apart and judges."""
    return given if type(given) is tuple else pair(op, argument, given)


def granularities(
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


def factor(op: str, d: object, alpha: float | None, epilogue: Epilogue | None) -> float | None:
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
