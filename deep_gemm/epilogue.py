"""What happens to a product before it is stored: the `epilogue` argument of the dense GEMMs.

    deep_gemm.bf16_gemm_nt(a, b, d, epilogue=deep_gemm.epilogue.Alpha(0.5))

Epilogues that convert the output (FP8 with clamp, stochastic rounding) are not in this version.
"""

from __future__ import annotations

__all__ = ["Alpha", "Epilogue", "Identity"]


class Epilogue:
    """Base of all epilogues; `alpha` is the factor applied to the product, None for no factor."""

    alpha: float | None = None


class Identity(Epilogue):
    """Store the product as it is."""


class Alpha(Epilogue):
    """Multiply the product by `alpha` before adding c."""

    def __init__(self, alpha: float) -> None:
        self.alpha = float(alpha)
