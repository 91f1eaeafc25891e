"""Command line: what is supported, what the cache holds, what the machine offers.

    python -m deep_gemm doctor
    python -m deep_gemm supports fp8_gemm_nt --m 128 --n 2112 --k 7168 --arch 90a
    python -m deep_gemm precompile fp8_gemm_nt --n 2112 576 --k 7168
    python -m deep_gemm bench --family dense_fp8 --peer FOLDER
    python -m deep_gemm cache ls | verify | prune --max-bytes 100000000 | pack FILE | unpack FILE

--json prints the answer as JSON. Exit codes: 0 yes or done, 1 no or something is wrong (not
supported, nothing can run, damaged entries, a failed kernel), 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import torch

from . import _ops, errors, support
from ._version import __version__
from .bench import _command as bench_command

__all__ = ["main"]

_OUTPUTS = {"bfloat16": torch.bfloat16, "float32": torch.float32}


def _print(answer: Any, as_json: bool, lines: list[str]) -> None:
    print(json.dumps(answer, indent=2, sort_keys=True) if as_json else "\n".join(lines))


def _flat(value: Any, prefix: str = "") -> list[str]:
    if isinstance(value, dict):
        rows = []
        for name, item in value.items():
            if isinstance(item, (dict, list)) and item:
                rows += [f"{prefix}{name}:", *_flat(item, prefix + "  ")]
            else:
                rows.append(f"{prefix}{name}: {'-' if item in ('', None, [], {}) else item}")
        return rows
    if isinstance(value, list):
        return [row for item in value for row in _flat(item, prefix)]
    return [f"{prefix}{value}"]


def _doctor(flags: argparse.Namespace) -> int:
    answer = support.doctor()
    _print(answer, flags.json, _flat(answer))
    usable = [answer[name].get("found", False) for name in ("host", "cuda") if name in answer]
    return 0 if any(usable) else 1


def _example_call(op: str, m: int, n: int, k: int, out: torch.dtype) -> tuple[Any, ...]:
    """Meta tensors of a call in default recipe, stored as the letters of the name say."""

    def empty(rows: int, columns: int, dtype: torch.dtype, stored_transposed: bool) -> torch.Tensor:
        shape = (columns, rows) if stored_transposed else (rows, columns)
        return torch.empty(shape, dtype=dtype, device="meta")

    a_transposed, b_transposed = op[-2] == "t", op[-1] == "n"
    d = torch.empty((m, n), dtype=out, device="meta")
    if op.startswith("bf16"):
        a = empty(m, k, torch.bfloat16, a_transposed)
        return a, empty(n, k, torch.bfloat16, b_transposed), d
    blocks_k, blocks_n = -(-k // 128), -(-n // 128)
    fp8 = torch.float8_e4m3fn
    a = (empty(m, k, fp8, a_transposed), empty(m, blocks_k, torch.float32, a_transposed))
    b = (empty(n, k, fp8, b_transposed), empty(blocks_n, blocks_k, torch.float32, b_transposed))
    return a, b, d


def _supports(flags: argparse.Namespace) -> int:
    args: tuple[Any, ...] = ()
    exists, _ = support.supports(flags.op)
    if exists and flags.n and flags.k:
        args = _example_call(flags.op, flags.m, flags.n, flags.k, _OUTPUTS[flags.output])
    ok, why = support.supports(flags.op, *args, arch=flags.arch)
    _print({"op": flags.op, "ok": ok, "reason": why}, flags.json, ["yes" if ok else f"no: {why}"])
    return 0 if ok else 1


def _state(kernel: dict[str, Any]) -> str:
    """What happened to one kernel; nothing is known of it after a dry run."""
    if kernel.get("cached"):
        return "  cached"
    return f"  {kernel['ms']:.0f} ms" if "ms" in kernel else ""


def _precompile(flags: argparse.Namespace) -> int:
    answer = support.precompile(
        flags.op,
        flags.n,
        flags.k,
        dtypes=_OUTPUTS[flags.output] if flags.output else None,
        arch=flags.arch,
        num_threads=flags.num_threads,
        dry_run=flags.dry_run,
    )
    rows = [kernel["name"] + _state(kernel) for kernel in answer["kernels"]]
    _print(answer, flags.json, [*rows, f"{answer['compiled']} compiled"])
    return 0


def _cache(flags: argparse.Namespace) -> int:
    if flags.action == "ls":
        entries = _ops.query("cache_list")
        rows = [f"{entry['bytes']:>10}  {entry['name']}  {entry['dir']}" for entry in entries]
        _print(entries, flags.json, [*rows, f"{len(entries)} entries"])
        return 0
    if flags.action == "verify":
        answer = _ops.query("cache_verify")
        _print(answer, flags.json, _flat(answer))
        return 1 if answer["damaged"] else 0
    if flags.action == "prune":
        answer = _ops.query("cache_prune", max_bytes=flags.max_bytes)
    else:
        answer = _ops.query(f"cache_{flags.action}", file=flags.file)
    _print(answer, flags.json, _flat(answer))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m deep_gemm", description=__doc__.split("\n")[0])
    parser.add_argument("--version", action="version", version=__version__)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print the answer as JSON")
    commands = parser.add_subparsers(dest="command", required=True)

    doctor = commands.add_parser("doctor", parents=[shared], help="what this machine offers")
    doctor.set_defaults(run=_doctor)

    supports = commands.add_parser("supports", parents=[shared], help="would a call run?")
    supports.add_argument("op")
    supports.add_argument("--m", type=int, default=1)
    supports.add_argument("--n", type=int)
    supports.add_argument("--k", type=int)
    supports.add_argument("--output", choices=sorted(_OUTPUTS), default="bfloat16")
    supports.add_argument("--arch", help="another machine, such as 90a or x86-64-v3")
    supports.set_defaults(run=_supports)

    precompile = commands.add_parser("precompile", parents=[shared], help="fill the cache")
    precompile.add_argument("op")
    precompile.add_argument("--n", type=int, nargs="+", required=True)
    precompile.add_argument("--k", type=int, nargs="+", required=True)
    precompile.add_argument("--output", choices=sorted(_OUTPUTS))
    precompile.add_argument("--arch")
    precompile.add_argument("--num-threads", type=int)
    precompile.add_argument("--dry-run", action="store_true", help="list, compile nothing")
    precompile.set_defaults(run=_precompile)

    bench = commands.add_parser("bench", help="measure beside a peer, on a GPU")
    bench_command.add_arguments(bench)
    bench.set_defaults(run=bench_command.main)

    cache = commands.add_parser("cache", help="look at and move the kernel cache")
    actions = cache.add_subparsers(dest="action", required=True)
    for action, text in (("ls", "list entries"), ("verify", "check every entry")):
        actions.add_parser(action, parents=[shared], help=text).set_defaults(run=_cache)
    prune = actions.add_parser("prune", parents=[shared], help="drop least recently used entries")
    prune.add_argument("--max-bytes", type=int, required=True)
    prune.set_defaults(run=_cache)
    for action, text in (("pack", "write all entries to FILE"), ("unpack", "add those of FILE")):
        mover = actions.add_parser(action, parents=[shared], help=text)
        mover.add_argument("file")
        mover.set_defaults(run=_cache)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    flags = _parser().parse_args(argv)
    try:
        return flags.run(flags)
    except errors.Error as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
