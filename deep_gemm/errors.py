"""Typed errors of deep_gemm. All are RuntimeError, so callers that catch that keep working.

    try:
        deep_gemm.fp8_gemm_nt((a, a_scale), (b, b_scale), d)
    except deep_gemm.errors.InvalidArgument as error:
        print(error)            # op, argument, given, rule, fix

The C++ side begins its messages with "[Kind] "; `retyped` turns such a RuntimeError into the class
of that kind. What each kind means is said on its class; the wording of messages lives in C++.
"""

# ruff: noqa: N818  (the published names of the kinds)

from __future__ import annotations

import re

__all__ = [
    "Cache",
    "Device",
    "Error",
    "Internal",
    "InvalidArgument",
    "Toolchain",
    "Unsupported",
    "describe",
    "from_kind",
    "retyped",
]


class Error(RuntimeError):
    """Base of every error that deep_gemm raises on purpose."""


class Unsupported(Error):
    """The call is well formed, but this device, build or version cannot do it."""


class InvalidArgument(Error):
    """An argument breaks a documented rule; the message names rule and fix."""


class Toolchain(Error):
    """A compiler is missing, too old, or failed; the message holds its whole log."""


class Cache(Error):
    """A kernel is missing from the cache under DG_JIT_MODE=forbid, or a cache command failed."""


class Device(Error):
    """The device or its driver refused."""


class Internal(Error):
    """A broken invariant of deep_gemm itself; please report it with the message."""


_KINDS: dict[str, type[Error]] = {
    cls.__name__: cls for cls in (Unsupported, InvalidArgument, Toolchain, Cache, Device, Internal)
}
_TAG = re.compile(r"\[(" + "|".join(_KINDS) + r")\] ")


def from_kind(kind: str, message: str) -> Error:
    """An error of the class that `kind` names; unknown kinds become Internal."""
    return _KINDS.get(kind, Internal)(message)


def retyped(error: RuntimeError) -> RuntimeError:
    """The typed form of an error whose text carries "[Kind] "; any other error unchanged."""
    text = str(error)
    tag = _TAG.search(text)
    if tag is None or isinstance(error, Error):
        return error
    return _KINDS[tag.group(1)](text[tag.end() :].rstrip())


def describe(op: str, argument: str, given: str, rule: str, reason: str, fix: str) -> str:
    """The five-part message, in the layout that the C++ side uses as well."""
    return f"deep_gemm.{op}: {argument}: given {given}.\n  Rule {rule}: {reason}.\n  Fix: {fix}."
