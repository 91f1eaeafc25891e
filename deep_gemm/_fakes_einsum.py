"""Fakes of einsum, and what it calls on machines without a C++ compiler.

    FAKES["einsum"](...)        # nothing: outputs are written in place

`_fake.py` registers both.
"""

from __future__ import annotations

import torch

from . import reference

__all__ = ["FAKES", "REFERENCES", "REFERENCE_SCHEMAS"]


def _writes_in_place(*args: object, **kwargs: object) -> None:
    """There is nothing to create."""


FAKES = dict.fromkeys(("einsum", "fp8_einsum"), _writes_in_place)

REFERENCE_SCHEMAS = {
    "_reference_einsum": "(str expr, Tensor a, Tensor b, Tensor(d!) d, Tensor? c) -> ()",
    "_reference_fp8_einsum": (
        "(str expr, Tensor a, Tensor a_scale, Tensor b, Tensor b_scale, Tensor(d!) d, Tensor? c,"
        " SymInt gran_m, SymInt gran_n, SymInt gran_k) -> ()"
    ),
}


def _einsum(
    expr: str, a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, c: torch.Tensor | None
) -> None:
    d.copy_(reference.einsum(expr, a, b, c, dtype=torch.float32))


def _fp8_einsum(
    expr: str,
    a: torch.Tensor,
    a_scale: torch.Tensor,
    b: torch.Tensor,
    b_scale: torch.Tensor,
    d: torch.Tensor,
    c: torch.Tensor | None,
    gran_m: int,
    gran_n: int,
    gran_k: int,
) -> None:
    recipe = (gran_m, gran_n, gran_k)
    pairs = (a, a_scale), (b, b_scale)
    d.copy_(reference.fp8_einsum(expr, *pairs, c, recipe=recipe, dtype=torch.float32))


REFERENCES = {
    "_reference_einsum": _einsum,
    "_reference_fp8_einsum": _fp8_einsum,
}
