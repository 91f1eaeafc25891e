"""deep_gemm: matrix operators of large language models, compiled at first use.

Re-exports only. Importing needs torch and nothing else, and touches no device.
"""

from . import _C as _C
from . import epilogue, errors, knobs, mega, reference, testing, utils
from ._absent import reason as _absent_reason
from ._C import (
    bf16_gemm_nn,
    bf16_gemm_nt,
    bf16_gemm_tn,
    bf16_gemm_tt,
    fp8_fp4_gemm_nn,
    fp8_fp4_gemm_nt,
    fp8_fp4_gemm_tn,
    fp8_fp4_gemm_tt,
    fp8_gemm_nn,
    fp8_gemm_nt,
    fp8_gemm_tn,
    fp8_gemm_tt,
    transform_sf_into_required_layout,
)
from ._version import __version__
from .knobs import (
    checking,
    get_batch_invariant,
    get_deterministic_algorithms,
    get_ignore_compile_dims,
    get_num_sms,
    get_pdl,
    get_tc_util,
    set_batch_invariant,
    set_block_size_multiple_of,
    set_ignore_compile_dims,
    set_num_sms,
    set_pdl,
    set_tc_util,
    shutdown,
    use_deterministic_algorithms,
)
from .mega import (
    SymmBuffer,
    get_symm_buffer_for_mega_moe,
    transform_scales_for_mega_moe,
    transform_weights_for_mega_moe,
    transform_weights_for_mega_moe_sm90,
)
from .support import (
    counters,
    doctor,
    features,
    plan,
    precompile,
    reset_counters,
    set_event_callback,
    supports,
)
from .utils import *  # noqa: F403

__all__ = [
    "SymmBuffer",
    "__version__",
    "bf16_gemm_nn",
    "bf16_gemm_nt",
    "bf16_gemm_tn",
    "bf16_gemm_tt",
    "checking",
    "counters",
    "doctor",
    "epilogue",
    "errors",
    "features",
    "fp8_fp4_gemm_nn",
    "fp8_fp4_gemm_nt",
    "fp8_fp4_gemm_tn",
    "fp8_fp4_gemm_tt",
    "fp8_gemm_nn",
    "fp8_gemm_nt",
    "fp8_gemm_tn",
    "fp8_gemm_tt",
    "get_batch_invariant",
    "get_deterministic_algorithms",
    "get_ignore_compile_dims",
    "get_num_sms",
    "get_pdl",
    "get_symm_buffer_for_mega_moe",
    "get_tc_util",
    "knobs",
    "mega",
    "plan",
    "precompile",
    "reference",
    "reset_counters",
    "set_batch_invariant",
    "set_block_size_multiple_of",
    "set_event_callback",
    "set_ignore_compile_dims",
    "set_num_sms",
    "set_pdl",
    "set_tc_util",
    "shutdown",
    "supports",
    "testing",
    "transform_scales_for_mega_moe",
    "transform_sf_into_required_layout",
    "transform_weights_for_mega_moe",
    "transform_weights_for_mega_moe_sm90",
    "use_deterministic_algorithms",
    "utils",
    *utils.__all__,
]


def __getattr__(name: str) -> object:
    reason = _absent_reason(name)
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}" + (f": {reason}" if reason else "")
    )
