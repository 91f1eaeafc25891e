"""Command line: what is supported, what the cache holds, what the machine offers.

    python -m deep_gemm doctor
    python -m deep_gemm supports fp8_gemm_nt --m 128 --n 2112 --k 7168 --arch 90a
    python -m deep_gemm precompile fp8_gemm_nt --n 2112 576 --k 7168
    python -m deep_gemm bench --family dense_fp8 --peer FOLDER
    python -m deep_gemm precompile --model deepseek-v3 --tensor-parallel 8
    python -m deep_gemm precompile fp8_paged_mqa_logits --heads 64 --head-dim 128 --block-kv 64
    python -m deep_gemm precompile --all --arch 90a --dry-run
    python -m deep_gemm cache ls | verify | prune --max-bytes 100000000 | pack FILE | unpack FILE

--json prints the answer as JSON, on standard output alone. Exit codes:
  0  yes, or done
  1  no, or something is wrong: not supported, nothing can run, a damaged entry, a failed kernel,
     an error (its kind and text go to standard error)
  2  wrong usage, or a part that this installation lacks
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import torch

from . import _ops, _packs, errors, fleet, support
from ._progress import progress
from ._tables import doctor_text, size_text, table
from ._version import __version__
from .bench import _command as bench_command

__all__ = ["main"]

_SIZES = ("n", "k", "gran_k", "expr", "heads", "head_dim", "block_kv", "next_n")
_OUTPUTS = {"bfloat16": torch.bfloat16, "float32": torch.float32}


def _print(answer: Any, as_json: bool, text: str) -> None:
    print(json.dumps(answer, indent=2, sort_keys=True) if as_json else text)


def _doctor(flags: argparse.Namespace) -> int:
    answer = support.doctor()
    _print(answer, flags.json, doctor_text(answer, verbose=flags.verbose))
    back_ends = [answer[name] for name in answer if "found" in answer[name]]
    return 0 if any(one["found"] for one in back_ends) else 1


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
    _print({"op": flags.op, "ok": ok, "reason": why}, flags.json, "yes" if ok else f"no: {why}")
    return 0 if ok else 1


def _state(kernel: dict[str, Any], dry_run: bool) -> str:
    if kernel["cached"]:
        return "cached"
    return "to compile" if dry_run else "compiled"


def _precompile(flags: argparse.Namespace) -> int:
    if flags.model:
        return _precompile_model(flags)
    if bool(flags.op) == flags.all or bool(flags.n) != bool(flags.k):
        print(
            "precompile: give an operator, with both of --n and --k or neither; --all; or --model",
            file=sys.stderr,
        )
        return 2
    ask: dict[str, Any] = {"op": flags.op or "all", "arch": flags.arch}
    ask |= {name: getattr(flags, name) for name in _SIZES}
    ask["dtypes"] = _OUTPUTS[flags.output] if flags.output else None
    answer = support.precompile(**ask, dry_run=True)
    if not flags.dry_run:
        missing = sum(not kernel["cached"] for kernel in answer["kernels"])
        with progress(missing, shown=_is_seen(flags) and missing > 0) as bar:
            bar.set_description("compiling")
            support.set_event_callback(
                lambda event: bar.update(1) if event["event"] == "compile" else None
            )
            try:
                answer = support.precompile(**ask, num_threads=flags.num_threads)
            finally:
                support.set_event_callback(None)
    rows = [
        (kernel["name"], kernel["request"][:12], _state(kernel, flags.dry_run),
         f"{kernel['ms']:.0f}")
        for kernel in answer["kernels"]
    ]  # fmt: skip
    text = table(("kernel", "request", "state", "ms"), rows)
    _print(answer, flags.json, f"{text}\n{answer['compiled']} compiled")
    return 0


def _precompile_model(flags: argparse.Namespace) -> int:
    shapes = fleet.calls(flags.model, flags.tensor_parallel)
    with progress(0, shown=_is_seen(flags)) as bar:
        bar.set_description(f"compiling for {flags.model}")
        report = fleet.precompile_linears(
            shapes,
            arch=flags.arch,
            num_threads=flags.num_threads,
            on_kernel=lambda row: bar.update(1),
            dry_run=flags.dry_run,
        )
    rows = [(one.layer, one.op, one.size) for one in shapes]
    lines = [table(("layer", "operator", "size"), rows)]
    lines += [f"skipped {op}: {why.splitlines()[0]}" for op, why in sorted(report.skipped.items())]
    done = f"{report.missing} to compile" if flags.dry_run else f"{report.compiled} compiled now"
    lines.append(f"{report.kernels} kernels serve these shapes, {done}")
    _print(vars(report) | {"model": flags.model}, flags.json, "\n".join(lines))
    return 0


def _is_seen(flags: argparse.Namespace) -> bool:
    return sys.stderr.isatty() and not flags.json


def _sum_of(entries: list[dict[str, Any]]) -> str:
    return f"{len(entries)} entries, {size_text(sum(entry['bytes'] for entry in entries))}"


def _listing(entries: list[dict[str, Any]], with_packs: bool) -> str:
    """A row an entry; those of an installed pack are one line unless they are asked for."""
    lines = []
    shown = entries
    for layer in [] if with_packs else _packs.layers():
        of_pack = [entry for entry in shown if layer in Path(entry["dir"]).parents]
        shown = [entry for entry in shown if layer not in Path(entry["dir"]).parents]
        if of_pack:
            lines.append(f"{layer.parent.name}: {_sum_of(of_pack)}, in {layer}; --all lists them")
    rows = [
        (entry["name"], entry["target"], size_text(entry["bytes"]), entry["request"][:12],
         entry["dir"])
        for entry in shown
    ]  # fmt: skip
    text = table(("kernel", "target", "size", "request", "folder"), rows)
    return "\n".join([text, *lines, _sum_of(entries)])


def _cache(flags: argparse.Namespace) -> int:
    if flags.action == "ls":
        entries = _ops.query("cache_list")
        _print(entries, flags.json, _listing(entries, flags.all))
        return 0
    if flags.action == "verify":
        answer = _ops.query("cache_verify")
        lines = [
            *answer["damaged"],
            f"{answer['checked']} checked, {len(answer['damaged'])} damaged",
        ]
        _print(answer, flags.json, "\n".join(lines))
        return 1 if answer["damaged"] else 0
    if flags.action == "prune":
        answer = _ops.query("cache_prune", max_bytes=flags.max_bytes)
        gone, left = size_text(answer["bytes"]), size_text(answer["bytes_left"])
        _print(answer, flags.json, f"{answer['removed']} entries removed, {gone}; {left} left")
        return 0
    answer = _ops.query(f"cache_{flags.action}", file=flags.file)
    count = answer[f"{flags.action}ed"]
    _print(answer, flags.json, f"{count} entries {flags.action}ed: {answer['file']}")
    return 0


def _parser() -> argparse.ArgumentParser:
    usage, _, codes = __doc__.partition("Exit codes:")
    parser = argparse.ArgumentParser(
        prog="python -m deep_gemm",
        description=usage.split("\n")[0],
        epilog="exit codes:" + codes,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print the answer as JSON")
    commands = parser.add_subparsers(dest="command", required=True)

    doctor = commands.add_parser("doctor", parents=[shared], help="what this machine offers")
    doctor.add_argument("--verbose", action="store_true", help="every place that was looked at")
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
    precompile.add_argument("op", nargs="?")
    precompile.add_argument("--n", type=int, nargs="+")
    precompile.add_argument("--k", type=int, nargs="+")
    precompile.add_argument("--output", choices=sorted(_OUTPUTS))
    precompile.add_argument("--gran-k", type=int, nargs="+", help="granularity of scales along k")
    precompile.add_argument("--expr", help="of einsum")
    for size, text in (
        ("--heads", "of a query of logits"),
        ("--head-dim", "elements of a head"),
        ("--block-kv", "keys of a page"),
        ("--next-n", "queries of a request"),
    ):
        precompile.add_argument(size, type=int, nargs="+", help=text)
    precompile.add_argument("--all", action="store_true", help="every operator, for any sizes")
    precompile.add_argument("--model", choices=sorted(fleet.MODELS), help="instead of op, n and k")
    precompile.add_argument("--tensor-parallel", type=int, default=1)
    precompile.add_argument("--arch", help="another machine, such as 90a or x86-64-v3")
    precompile.add_argument("--num-threads", type=int)
    precompile.add_argument("--dry-run", action="store_true", help="list, compile nothing")
    precompile.set_defaults(run=_precompile)

    bench = commands.add_parser("bench", help="measure beside a peer, on a GPU")
    bench_command.add_arguments(bench)
    bench.set_defaults(run=bench_command.main)

    cache = commands.add_parser("cache", help="look at and move the kernel cache")
    actions = cache.add_subparsers(dest="action", required=True)
    ls = actions.add_parser("ls", parents=[shared], help="list entries")
    ls.add_argument("--all", action="store_true", help="those of installed packs too, each")
    ls.set_defaults(run=_cache)
    verify = actions.add_parser("verify", parents=[shared], help="check every entry")
    verify.set_defaults(run=_cache)
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
