"""The rows of cases.csv as values, and the four workloads of the seed's table."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["FAMILIES", "SEED", "load", "title"]

Row = dict[str, Any]

DEFAULT = Path(__file__).with_name("cases.csv")
_NUMBERS = ("m", "n", "k", "groups", "accumulate")

FAMILIES = (
    "dense_fp8",
    "dense_bf16",
    "m_grouped_fp8_index",
    "m_grouped_fp8_psum",
    "masked_fp8",
    "k_grouped_fp8",
    "skip_head_mid_fp8",
    "tf32_hc_prenorm",
    "mqa_logits",
    "paged_mqa_logits",
    "einsum",
    "fp8_einsum",
    "sf_layout",
)


def _row(family: str, m: int, n: int, k: int, **more: Any) -> Row:
    blank = {"layout": "", "scales": "", "out": "", "extra": "", "groups": 0, "accumulate": 0}
    return {"family": family, "m": m, "n": n, "k": k, **blank, **more}


_SCALED: dict[str, Any] = {"layout": "NT", "scales": "1x128,128x128", "out": "BF16"}

# The seed's own shapes, under the names of its table.
SEED: dict[str, Row] = {
    "fp8_gemm_nt": _row("dense_fp8", 4096, 7168, 2048, **_SCALED),
    "grouped_fp8_nt": _row(
        "m_grouped_fp8_index",
        3712,
        4096,
        2048,
        **(_SCALED | {"groups": 4, "sizes": [1024, 896, 768, 1024]}),
    ),
    "tf32_hc_prenorm_gemm": _row("tf32_hc_prenorm", 4096, 24, 7168, extra="num_splits=16"),
    "fp8_mqa_logits": _row(
        "mqa_logits", 512, 4096, 128, groups=32, layout="plain", out="FP32", extra="causal"
    ),
}


def _value(key: str, text: str) -> Any:
    if key in _NUMBERS:
        return int(text) if text else 0
    if key in ("peer_us", "vs_cublaslt"):
        return float(text) if text else None
    return text


def load(path: Path = DEFAULT, families: Iterable[str] = FAMILIES) -> list[Row]:
    """The rows of these families, in the file's order."""
    wanted = set(families)
    with path.open(newline="") as file:
        rows = [
            {key: _value(key, text) for key, text in row.items()} for row in csv.DictReader(file)
        ]
    return [row for row in rows if row["family"] in wanted]


def title(row: Row) -> str:
    """A row in a few words."""
    sizes = "x".join(str(row[key]) for key in ("m", "n", "k") if row[key])
    parts = [sizes, f"g{row['groups']}" if row["groups"] else "", row["layout"], row["out"]]
    if row["accumulate"]:
        parts.append("+c")
    if row["scales"] == "1x128,1x128":
        parts.append("1x128")
    if not sizes or "num_splits" in row["extra"] or "next_n=2" in row["extra"]:
        parts.append(row["extra"].rpartition(",")[2].strip() if sizes else row["extra"])
    return " ".join(part for part in parts if part)
