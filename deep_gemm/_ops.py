"""Loads the extension beside this file and binds its operators and control functions.

    from . import _ops
    _ops.op("fp8_gemm_nt")(a, a_scale, b, b_scale, d)
    _ops.query("counters")                     # JSON answer as a Python value

The operators are bound from the namespace of this very extension file, so that two copies of the
package (pip and vendored) live in one process. Argument logic is in `_C.py`, fakes in `_fake.py`.
"""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path
from typing import Any

import torch

from . import _packs, errors, knobs

__all__ = ["EXTENSION", "NAMESPACE", "ROOT", "op", "query", "set_callback"]

# Not resolved: under Bazel this is a link into the checkout, with the extension beside the link.
ROOT = Path(__file__).absolute().parent
EXTENSION = ROOT / "_C_extension.abi3.so"

if not EXTENSION.is_file():
    raise ImportError(
        f"deep_gemm: the compiled extension {EXTENSION} is missing. A checkout has none until it is"
        " built there, by `python3 setup.py build_ext --inplace` or `./tools/bazelw run"
        " //tools/dev:install_extension`. After `pip install .` run from another folder: in the"
        " checkout Python takes its folder before the installed package.",
        path=str(EXTENSION),
    )


class _DgKnobs(ctypes.Structure):
    """Mirror of `DgKnobs` in csrc/control.h."""

    _fields_ = [(name, ctypes.c_int32) for name in knobs.Knobs.__dataclass_fields__]


_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_char_p)

try:
    torch.ops.load_library(str(EXTENSION))
    _lib = ctypes.CDLL(str(EXTENSION))
except OSError as error:
    raise ImportError(
        f"deep_gemm: {EXTENSION} does not load with torch {torch.__version__}: {error}",
        path=str(EXTENSION),
    ) from error

_lib.dg_namespace.restype = ctypes.c_char_p
_lib.dg_init.argtypes = [ctypes.c_char_p]
_lib.dg_set_knobs.argtypes = [ctypes.POINTER(_DgKnobs)]
_lib.dg_query.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
_lib.dg_query.restype = ctypes.c_void_p
_lib.dg_free.argtypes = [ctypes.c_void_p]
_lib.dg_set_callback.argtypes = [ctypes.c_void_p]

NAMESPACE: str = _lib.dg_namespace().decode()


def init(root: str | Path = ROOT) -> None:
    """Tell the extension where `include/` and the other data files are."""
    root = os.fspath(root)
    if not Path(root, "include/deep_gemm").is_dir():
        raise errors.InvalidArgument(
            errors.describe(
                "init",
                "library_root",
                repr(root),
                "PACKAGE_ROOT",
                "the root of the package holds include/deep_gemm",
                f"leave it as it is, {str(ROOT)!r}",
            )
        )
    if _lib.dg_init(root.encode()) != 0:
        raise errors.Internal(f"deep_gemm: {root} was refused as package root")


def query(what: str, **args: object) -> Any:
    """One question to the control plane; an error answer is raised as its typed class."""
    lines = "".join(f"{name}={value}\n" for name, value in args.items() if value is not None)
    answer = _lib.dg_query(what.encode(), lines.encode())
    if not answer:
        raise errors.Internal(f"deep_gemm: no answer to {what!r}")
    try:
        value = json.loads(ctypes.string_at(answer).decode())
    finally:
        _lib.dg_free(answer)
    if isinstance(value, dict) and isinstance(value.get("error"), dict):
        raise errors.from_kind(value["error"]["kind"], value["error"]["message"])
    return value


def op(name: str) -> Any:
    """The bound overload of an operator of this extension."""
    return getattr(getattr(torch.ops, NAMESPACE), name).default


def _push_knobs(values: knobs.Knobs) -> None:
    _lib.dg_set_knobs(ctypes.byref(_DgKnobs(**vars(values))))


_live_callback: Any = None


def set_callback(callback: Any) -> None:
    """Call `callback(event_json: bytes)` for every compile, hit and load; None clears it."""
    global _live_callback
    pointer = None if callback is None else _CALLBACK(callback)
    _lib.dg_set_callback(None if pointer is None else ctypes.cast(pointer, ctypes.c_void_p))
    _live_callback = pointer  # Invariant: the C++ side may call it until it is replaced


init()
for _layer in _packs.layers():
    query("ship_kernels", dir=_layer)
knobs.bind(_push_knobs)
