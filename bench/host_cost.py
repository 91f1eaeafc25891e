"""What a warm call costs on the host, by part and family.

    python bench/host_cost.py                          # us a call, CPU tensors
    python bench/host_cost.py --device cuda --json     # kernels are launched and not waited for
    python bench/host_cost.py --instructions           # instructions a call, under valgrind

Products are small, so that what is left is the way to the kernel and back. Parts are differences of
calls that the shortcut (`deep_gemm/_eager.py`) leaves at a later and later point:

| part | the call that ends it |
|---|---|
| facade | the public function with nothing behind it |
| enter | an index that nobody has |
| modes | a first argument that is no tensor: every question to torch was asked |
| arguments | all arguments but the last: tensors were read |
| check | other wishes, so that nothing is prepared: checked, hashed, looked up |
| launch | the call itself: allocates a result, prepares parameters, launches; on a CPU computes |

`operator` is the same call through torch's dispatcher. Times are medians over rounds, instructions
are exact; nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch

import deep_gemm
from deep_gemm import _eager, _ops

ROUNDS = 15
PARTS = ("facade", "enter", "modes", "arguments", "check", "launch")
FP8 = torch.float8_e4m3fn

Call = Callable[[], object]
Meter = Callable[[Call, int], float]


def microseconds(call: Call, calls: int) -> float:
    """Median over rounds of the mean time of one call."""
    call()
    samples = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        samples.append((time.perf_counter() - start) / calls * 1e6)
        if torch.cuda.is_available():
            torch.cuda.synchronize()  # a full queue would be timed instead
    return statistics.median(samples)


def control(*flags: str) -> None:
    """Tell the callgrind that runs this process."""
    subprocess.run(["callgrind_control", *flags, str(os.getpid())], check=True, capture_output=True)


def counted(call: Call, calls: int) -> float:
    """Instructions of one call, and of the control of callgrind; in a process under it."""
    call()
    control("-z")
    for _ in range(calls):
        call()
    control("-d")
    dumps = Path(os.environ["HOST_COST_DUMPS"]).glob("out.*")
    newest = max(dumps, key=lambda path: int(path.name.rpartition(".")[2]))
    total = re.search(r"^(?:summary|totals): (\d+)", newest.read_text(), re.MULTILINE)
    if total is None:
        raise RuntimeError(f"{newest} holds no total")
    return int(total[1]) / calls


def families(device: str) -> dict[str, tuple[str, Call]]:
    """Row of the table to the operator's name and a call of its public function."""
    # On a CPU the call waits for the kernel, so there it has next to nothing to do.
    is_cpu = device == "cpu"
    rows, size, k, groups = (1, 1, 128, 1) if is_cpu else (8, 128, 128, 2)
    heads, keys, dim = (1, 1, 32) if is_cpu else (32, 64, 128)
    splits, mixes, slots = (1, 1, 1) if is_cpu else (16, 24, 132)
    seed = torch.Generator().manual_seed(7)

    def bf16(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=seed).bfloat16().to(device)

    def fp8(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=seed).to(FP8).to(device)

    def ones(*shape: int) -> torch.Tensor:
        return torch.ones(*shape, device=device)

    def int32(*values: int) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.int32, device=device)

    x, w = bf16(rows, k), bf16(size, k)
    a, b = (fp8(rows, k), ones(rows, 1)), (fp8(size, k), ones(1, 1))
    stacked = fp8(groups, size, k), ones(groups, 1, 1)
    masked = fp8(groups, rows, k), ones(groups, rows, 1)
    labels, counts = int32(*[0] * rows), int32(*[rows] * groups)
    d, d_groups = bf16(rows, size), bf16(groups, rows, size)
    along_k = (fp8(k, rows), ones(1, rows)), (fp8(k, size), ones(1, size))
    sums = ones(splits, rows, mixes), ones(splits, rows)
    query = fp8(rows, heads, dim), (fp8(keys, dim), ones(keys)), ones(rows, heads)
    ranges = int32(*[0] * rows), int32(*[keys] * rows)
    lengths, table = int32(*[keys] * rows).view(rows, 1), int32(*range(rows)).view(rows, 1)
    cache = torch.zeros(rows, keys, 1, dim + 4, dtype=torch.uint8, device=device)
    schedule = deep_gemm.get_paged_mqa_logits_metadata(lengths, keys, slots)
    heads_of = (fp8(rows, groups, k), ones(rows, groups, 1)), stacked
    return {
        "dense fp8": ("fp8_gemm_nt", partial(deep_gemm.fp8_gemm_nt, a, b, d)),
        "dense bf16": ("bf16_gemm_nt", partial(deep_gemm.bf16_gemm_nt, x, w, d)),
        "grouped fp8, contiguous": (
            "m_grouped_fp8_gemm_nt_contiguous",
            partial(deep_gemm.m_grouped_fp8_gemm_nt_contiguous, a, stacked, d, labels),
        ),
        "grouped fp8, masked": (
            "m_grouped_fp8_gemm_nt_masked",
            partial(
                deep_gemm.m_grouped_fp8_gemm_nt_masked, masked, stacked, d_groups, counts, rows
            ),
        ),
        "grouped bf16, contiguous": (
            "m_grouped_bf16_gemm_nt_contiguous",
            partial(
                deep_gemm.m_grouped_bf16_gemm_nt_contiguous, x, bf16(groups, size, k), d, labels
            ),
        ),
        "grouped along k": (
            "k_grouped_fp8_gemm_tn_contiguous",
            partial(
                deep_gemm.k_grouped_fp8_gemm_tn_contiguous,
                *along_k,
                ones(1, rows, size),
                torch.tensor([k]),
                int32(k),
            ),
        ),
        "einsum fp8": (
            "fp8_einsum",
            partial(deep_gemm.fp8_einsum, "bhr,hdr->bhd", *heads_of, bf16(rows, groups, size)),
        ),
        "hyper-connection": (
            "tf32_hc_prenorm_gemm",
            partial(deep_gemm.tf32_hc_prenorm_gemm, x, ones(mixes, k), *sums, splits),
        ),
        "logits": ("fp8_mqa_logits", partial(deep_gemm.fp8_mqa_logits, *query, *ranges, False)),
        "paged logits": (
            "fp8_paged_mqa_logits",
            partial(
                deep_gemm.fp8_paged_mqa_logits,
                fp8(rows, 1, heads, dim),
                cache,
                query[2],
                lengths,
                table,
                schedule,
                keys,
            ),
        ),
        "paged schedule": (
            "get_paged_mqa_logits_metadata",
            partial(deep_gemm.get_paged_mqa_logits_metadata, lengths, keys, slots),
        ),
    }


@contextmanager
def launches(stand_in: Callable[..., Any]) -> Iterator[None]:
    """The facade calls something else."""
    launch, _eager.launch = _eager.launch, stand_in
    try:
        yield
    finally:
        _eager.launch = launch


def nothing(*arguments: Any) -> None:
    """Stands for the extension where the facade alone is measured."""


@contextmanager
def other_wishes() -> Iterator[None]:
    """Nothing was prepared under these."""
    before = deep_gemm.get_pdl()
    deep_gemm.set_pdl(not before)
    try:
        yield
    finally:
        deep_gemm.set_pdl(before)


def costs(name: str, call: Call, meter: Meter, calls: int) -> dict[str, float]:
    """Of each part, then of the whole and of the operator itself."""
    for _ in range(3):
        call()
    launch = _eager.launch
    seen: list[tuple[Any, ...]] = []
    with launches(lambda *given: seen.append(given)):
        call()
    form, *arguments = seen[0]
    all_but_last = arguments[:-1]
    with launches(nothing):
        facade = meter(call, calls) - meter(lambda: nothing(form, *arguments), calls)
    operator = _ops.op(name)
    flat = [x for given in arguments for x in (given if type(given) is tuple else (given,))]
    at = {
        "empty": meter(lambda: None, calls),
        "enter": meter(lambda: launch(255), calls),
        "modes": meter(lambda: launch(form, None), calls),
        "arguments": meter(lambda: launch(form, *all_but_last), calls),
    }
    with other_wishes():
        at["check"] = meter(lambda: launch(form, *arguments), calls)
    at["launch"] = meter(lambda: launch(form, *arguments), calls)
    parts = {"facade": facade}
    for before, part in zip(("empty", *PARTS[1:]), PARTS[1:], strict=False):
        parts[part] = at[part] - at[before]
    parts["whole"] = meter(call, calls) - at["empty"]
    parts["operator"] = meter(lambda: operator(*flat), calls) - at["empty"]
    return parts


def under_callgrind() -> int:
    """This very command again, counted."""
    if shutil.which("valgrind") is None:
        raise SystemExit("--instructions needs valgrind")
    with tempfile.TemporaryDirectory() as folder:
        tool = ["valgrind", "--tool=callgrind", "--instr-atstart=no"]
        tool.append(f"--callgrind-out-file={folder}/out")
        environment = os.environ | {"HOST_COST_DUMPS": folder, "OMP_NUM_THREADS": "1"}
        command = [*tool, "-q", sys.executable, __file__, *sys.argv[1:]]
        return subprocess.run(command, env=environment, check=False).returncode


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", type=int, help="calls per round; 300, or 200 counted ones")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", help="rows that contain this text")
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--json", action="store_true")
    flags = parser.parse_args()
    if flags.instructions and "HOST_COST_DUMPS" not in os.environ:
        raise SystemExit(under_callgrind())
    if flags.instructions:
        control("-i", "on")
    meter = counted if flags.instructions else microseconds
    calls = flags.calls or (200 if flags.instructions else 300)
    table = {}
    with torch.inference_mode():
        for row, (name, call) in families(flags.device).items():
            if flags.only is None or flags.only in row:
                table[row] = costs(name, call, meter, calls)
    unit = "instructions" if flags.instructions else "microseconds"
    if flags.json:
        print(json.dumps({"torch": torch.__version__, "unit": unit, "costs": table}, indent=2))
        return
    print(f"torch {torch.__version__}, {flags.device}, {unit} a call")
    columns = (*PARTS, "whole", "operator")
    print(f"{'':26}" + "".join(f"{column:>11}" for column in columns))
    digits = 0 if flags.instructions else 2
    for row, cost in table.items():
        print(f"{row:26}" + "".join(f"{cost[column]:11.{digits}f}" for column in columns))


if __name__ == "__main__":
    main()
