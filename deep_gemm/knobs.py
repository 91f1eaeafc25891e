"""Process-wide wishes: how many SMs to use, which alignment, which modes.

    deep_gemm.set_num_sms(120)
    with deep_gemm.checking():
        ...                                  # arguments are also checked by value

Python holds the values and pushes them to the C++ side, which reads them once at the start of a
call; a setter therefore acts on later calls only. None changes a result, except where
`use_deterministic_algorithms` and `set_batch_invariant` say so. Nothing here touches a device
until `get_num_sms` is asked.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from . import errors

__all__ = [
    "checking",
    "get_batch_invariant",
    "get_deterministic_algorithms",
    "get_ignore_compile_dims",
    "get_k_alignment_for_contiguous_layout",
    "get_m_alignment_for_contiguous_layout",
    "get_mk_alignment_for_contiguous_layout",
    "get_num_sms",
    "get_pdl",
    "get_tc_util",
    "get_theoretical_mk_alignment_for_contiguous_layout",
    "is_checking",
    "set_batch_invariant",
    "set_block_size_multiple_of",
    "set_ignore_compile_dims",
    "set_mk_alignment_for_contiguous_layout",
    "set_num_sms",
    "set_pdl",
    "set_tc_util",
    "shutdown",
    "use_deterministic_algorithms",
]


@dataclass
class Knobs:
    """Current wishes; field names are those of `DgKnobs` in csrc/control.h."""

    num_sms: int = 0
    pdl: int = 0
    tc_util: int = 100
    deterministic: int = 0
    batch_invariant: int = 0
    mk_alignment: int = 128
    block_m_multiple: int = 1
    block_n_multiple: int = 1
    ignore_compile_dims: int = 0
    check: int = 0
    num_threads: int = 0


_knobs = Knobs()
_check_depth = 0
_push: Callable[[Knobs], None] | None = None


def bind(push: Callable[[Knobs], None]) -> None:
    """Called once by `_ops` when the extension is loaded: from now on changes are pushed to it."""
    global _push
    _push = push
    _knobs.check = int(is_checking())
    push(_knobs)


def _set(**values: int) -> None:
    for name, value in values.items():
        setattr(_knobs, name, int(value))
    if _push is not None:
        _push(_knobs)


def _refuse(op: str, argument: str, given: object, rule: str, why: str, fix: str) -> None:
    raise errors.InvalidArgument(errors.describe(op, argument, repr(given), rule, why, fix))


def _device_num_sms() -> int:
    if torch.cuda.is_available():
        return torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count
    return torch.get_num_threads()


def set_num_sms(new_num_sms: int) -> None:
    """How many SMs persistent kernels occupy; 0 is all of them. No effect on CPU operators."""
    limit = _device_num_sms() if torch.cuda.is_available() else 2**31 - 1
    if not 0 <= new_num_sms <= limit:
        _refuse(
            "set_num_sms",
            "new_num_sms",
            new_num_sms,
            "NUM_SMS",
            f"between 0 (all) and the {limit} of the current device",
            "pass a value that get_num_sms() of a fresh process can reach",
        )
    _set(num_sms=new_num_sms)


def get_num_sms() -> int:
    """The value set, else the SM count of the current device (CPU: the number of threads)."""
    return _knobs.num_sms or _device_num_sms()


def set_tc_util(new_tc_util: int) -> None:
    """Tensor-core throttle in percent, for SM100 kernels; 0 reads back as 100."""
    if not 0 <= new_tc_util <= 100:
        _refuse("set_tc_util", "new_tc_util", new_tc_util, "PERCENT", "between 0 and 100", "clamp")
    _set(tc_util=new_tc_util or 100)


def get_tc_util() -> int:
    """Tensor-core throttle in percent."""
    return _knobs.tc_util


def set_pdl(enable: bool) -> None:
    """Programmatic dependent launch for kernels that wait on the device for their producer."""
    _set(pdl=bool(enable))


def get_pdl() -> bool:
    """Whether programmatic dependent launch is wished."""
    return bool(_knobs.pdl)


def set_ignore_compile_dims(v: bool) -> None:
    """Ignore `compiled_dims` arguments. Kept for callers: no kernel here depends on them."""
    _set(ignore_compile_dims=bool(v))


def get_ignore_compile_dims() -> bool:
    """Whether `compiled_dims` arguments are ignored."""
    return bool(_knobs.ignore_compile_dims)


def set_block_size_multiple_of(v: int | tuple[int, int]) -> None:
    """Make output tiles a multiple of v, or of (m, n), where a legal tile allows it."""
    m, n = (v, v) if isinstance(v, int) else v
    if m < 1 or n < 1:
        _refuse(
            "set_block_size_multiple_of", "v", v, "BLOCK_MULTIPLE", "positive", "pass 1 to reset"
        )
    _set(block_m_multiple=m, block_n_multiple=n)


def use_deterministic_algorithms(enabled: bool) -> None:
    """Every operator here is deterministic already; the wish is recorded for those to come."""
    _set(deterministic=bool(enabled))


def get_deterministic_algorithms() -> bool:
    """Whether deterministic algorithms were asked for."""
    return bool(_knobs.deterministic)


def set_batch_invariant(enabled: bool = True) -> None:
    """A row's result no longer depends on how many rows there are: no algorithm chosen by m."""
    _set(batch_invariant=bool(enabled))


def get_batch_invariant() -> bool:
    """Whether batch-invariant results were asked for."""
    return bool(_knobs.batch_invariant)


def set_mk_alignment_for_contiguous_layout(new_value: int) -> None:
    """Row (and k) alignment of groups in contiguous layouts, read at each call."""
    _set(mk_alignment=new_value)


def get_mk_alignment_for_contiguous_layout() -> int:
    """Row (and k) alignment of groups in contiguous layouts; 128 unless set."""
    return _knobs.mk_alignment


def get_m_alignment_for_contiguous_layout() -> int:
    """Another name of `get_mk_alignment_for_contiguous_layout`."""
    return _knobs.mk_alignment


def get_k_alignment_for_contiguous_layout() -> int:
    """Another name of `get_mk_alignment_for_contiguous_layout`."""
    return _knobs.mk_alignment


def get_theoretical_mk_alignment_for_contiguous_layout(
    expected_m: int | None = None, num_groups: int | None = None
) -> int:
    """Best alignment for groups of `expected_m` rows; 128 on the CPU and on Hopper.

    `expected_m` is per group, or the total over `num_groups` when that is given.
    """
    if not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != 10:
        return 128
    value = 224
    if expected_m is None:
        return value
    per_group = expected_m if num_groups is None else -(-expected_m // max(num_groups, 1))
    while value > 32 and value - 32 >= per_group:
        value -= 32
    return value


def is_checking() -> bool:
    """Whether arguments are checked by value: inside `checking()`, or DG_CHECK set and not 0."""
    return _check_depth > 0 or os.environ.get("DG_CHECK", "0") not in ("", "0")


@contextlib.contextmanager
def checking() -> Iterator[None]:
    """Check arguments by value too (group labels, scales), at the price of a synchronisation."""
    global _check_depth
    _check_depth += 1
    _set(check=is_checking())
    try:
        yield
    finally:
        _check_depth -= 1
        _set(check=is_checking())


def shutdown() -> None:
    """Release library handles and workspaces; this package holds none, so nothing happens."""
