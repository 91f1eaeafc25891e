"""What the registry needs from Python: fakes for tracing, references for machines without compiler.

    _fake.register("deep_gemm_0123456789abcdef")

Fakes let torch.compile and FakeTensorMode trace an operator without data. The `_reference_*`
operators are what the C++ side calls, through the dispatcher, when it finds no C++ compiler.
Registering is idempotent: a second copy of the same file finds everything in place.
"""

from __future__ import annotations

import torch

from . import _fakes_einsum, _fakes_gate, _fakes_grouped, _fakes_logits, _fakes_sparse
from .reference import bf16_gemm, fp8_gemm, tf32_hc_prenorm_gemm

__all__ = ["FAKES", "register"]

ALIAS = "deep_gemm"  # the shared namespace, claimed by whichever copy was loaded first

_REFERENCE_SCHEMAS = {
    "_reference_fp8_gemm": (
        "(Tensor a, Tensor a_scale, Tensor b, Tensor b_scale, Tensor(d!) d, Tensor? c,"
        " SymInt gran_m, SymInt gran_n, SymInt gran_k_a, SymInt gran_k_b, float alpha) -> ()"
    ),
    "_reference_bf16_gemm": "(Tensor a, Tensor b, Tensor(d!) d, Tensor? c, float alpha) -> ()",
    "_reference_tf32_hc_prenorm_gemm": (
        "(Tensor a, Tensor b, Tensor(d!) d, Tensor(e!) sqr_sum, SymInt? num_splits) -> ()"
    ),
    **_fakes_einsum.REFERENCE_SCHEMAS,
    **_fakes_gate.REFERENCE_SCHEMAS,
    **_fakes_grouped.REFERENCE_SCHEMAS,
    **_fakes_logits.REFERENCE_SCHEMAS,
    **_fakes_sparse.REFERENCE_SCHEMAS,
}

_libraries: dict[str, torch.library.Library] = {}


def _writes_d_in_place(*args: object, **kwargs: object) -> None:
    """Fake of every operator that fills `d` and returns nothing: there is nothing to create."""


# One entry per schema that takes tensors; a test compares this list with the registered schemas.
FAKES = (
    {
        f"{stem}_{layout}": _writes_d_in_place
        for stem in ("fp8_gemm", "fp8_fp4_gemm", "bf16_gemm")
        for layout in ("nt", "nn", "tn", "tt")
    }
    | _fakes_grouped.FAKES
    | _fakes_logits.FAKES
    | _fakes_sparse.FAKES
)
FAKES |= _fakes_einsum.FAKES
for _name in ("fp4_gemm_nt", "tf32_hc_prenorm_gemm", "bf16_mega_gate"):
    FAKES[_name] = _writes_d_in_place


def _packed_along_k(data: torch.Tensor) -> torch.Tensor:
    return data.contiguous() if data.dtype == torch.int8 else data


def _reference_fp8_gemm(
    a: torch.Tensor,
    a_scale: torch.Tensor,
    b: torch.Tensor,
    b_scale: torch.Tensor,
    d: torch.Tensor,
    c: torch.Tensor | None,
    gran_m: int,
    gran_n: int,
    gran_k_a: int,
    gran_k_b: int,
    alpha: float,
) -> None:
    d.copy_(
        fp8_gemm(
            _packed_along_k(a),
            a_scale,
            _packed_along_k(b),
            b_scale,
            c,
            recipe_a=(gran_m, gran_k_a),
            recipe_b=(gran_n, gran_k_b),
            alpha=alpha,
            dtype=torch.float32,
        )
    )


def _reference_bf16_gemm(
    a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, c: torch.Tensor | None, alpha: float
) -> None:
    d.copy_(bf16_gemm(a, b, c, alpha=alpha, dtype=torch.float32))


def _reference_tf32_hc_prenorm_gemm(
    a: torch.Tensor,
    b: torch.Tensor,
    d: torch.Tensor,
    sqr_sum: torch.Tensor,
    num_splits: int | None,
) -> None:
    product, squares = tf32_hc_prenorm_gemm(a, b, num_splits, dtype=torch.float32)
    d.copy_(product)
    sqr_sum.copy_(squares)


_REFERENCES = {
    "_reference_fp8_gemm": _reference_fp8_gemm,
    "_reference_bf16_gemm": _reference_bf16_gemm,
    "_reference_tf32_hc_prenorm_gemm": _reference_tf32_hc_prenorm_gemm,
    **_fakes_einsum.REFERENCES,
    **_fakes_gate.REFERENCES,
    **_fakes_grouped.REFERENCES,
    **_fakes_logits.REFERENCES,
    **_fakes_sparse.REFERENCES,
}


def _library(namespace: str) -> torch.library.Library:
    if namespace not in _libraries:
        _libraries[namespace] = torch.library.Library(namespace, "FRAGMENT")
    return _libraries[namespace]


def _register_fakes(namespace: str) -> None:
    for name, fake in FAKES.items():
        qualified = f"{namespace}::{name}"
        if not torch._C._dispatch_has_kernel(qualified):
            continue  # the alias belongs to a library that knows other operators
        if not torch._C._dispatch_has_kernel_for_dispatch_key(qualified, "Meta"):
            torch.library.register_fake(qualified, fake, lib=_library(namespace))


def register(namespace: str) -> None:
    """Register fakes and references in `namespace`, and fakes in the shared one."""
    for name, arguments in _REFERENCE_SCHEMAS.items():
        if not torch._C._dispatch_has_kernel(f"{namespace}::{name}"):
            _library(namespace).define(name + arguments)
            _library(namespace).impl(name, _REFERENCES[name], "CPU")
    _register_fakes(namespace)
    _register_fakes(ALIAS)
