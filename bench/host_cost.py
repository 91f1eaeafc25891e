"""What a warm call costs on the host, by part: facade, operator, bare dispatch, helpers.

    python bench/host_cost.py                 # table
    python bench/host_cost.py --json --calls 20000

The product itself is made as small as it can be (m = n = k = 1 and empty outputs), so that what is
left is the way to the kernel and back. Each line is the median over rounds; nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch

import deep_gemm
from deep_gemm import _ops

ROUNDS = 15


def microseconds(call: Callable[[], object], calls: int) -> float:
    """Median over rounds of the mean time of one call."""
    call()
    samples = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        samples.append((time.perf_counter() - start) / calls * 1e6)
    return statistics.median(samples)


def parts() -> dict[str, Callable[[], object]]:
    """Name of each part to a call that exercises it."""
    x, w = torch.ones(1, 1).bfloat16(), torch.ones(1, 1).bfloat16()
    d = torch.empty(1, 1, dtype=torch.bfloat16)
    none = torch.empty(0, 1).bfloat16()
    d_none = torch.empty(0, 1, dtype=torch.bfloat16)
    a = deep_gemm.per_token_cast_to_fp8(x, use_ue8m0=False)
    b = deep_gemm.per_block_cast_to_fp8(w, use_ue8m0=False)
    a_none = deep_gemm.per_token_cast_to_fp8(none, use_ue8m0=False)
    fp8, bf16 = _ops.op("fp8_gemm_nt"), _ops.op("bf16_gemm_nt")
    sf = deep_gemm.get_mn_major_tma_aligned_tensor(torch.ones(64, 56))
    return {
        "empty python call": lambda: None,
        "torch.relu_ on the same d": d.relu_,
        "bf16 operator, empty output (dispatch + checks)": lambda: bf16(none, w, d_none),
        "bf16 operator": lambda: bf16(x, w, d),
        "bf16 facade": lambda: deep_gemm.bf16_gemm_nt(x, w, d),
        "fp8 operator, empty output (dispatch + checks)": lambda: fp8(*a_none, *b, d_none),
        "fp8 operator": lambda: fp8(*a, *b, d),
        "fp8 facade": lambda: deep_gemm.fp8_gemm_nt(a, b, d),
        "fp8 facade, explicit recipe": lambda: deep_gemm.fp8_gemm_nt(a, b, d, recipe=(1, 128, 128)),
        "aligned scale returned itself": lambda: deep_gemm.get_mn_major_tma_aligned_tensor(sf),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", type=int, default=2000, help="calls per round")
    parser.add_argument("--json", action="store_true")
    flags = parser.parse_args()
    costs = {name: microseconds(call, flags.calls) for name, call in parts().items()}
    if flags.json:
        print(json.dumps({"torch": torch.__version__, "microseconds": costs}, indent=2))
        return
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, us a call")
    for name, cost in costs.items():
        print(f"{cost:>9.2f}  {name}")


if __name__ == "__main__":
    main()
