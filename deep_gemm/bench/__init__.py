"""`python -m deep_gemm bench`: this package beside a peer and the vendor's library.

    python -m deep_gemm bench --family dense_fp8 --peer /path/that/holds/the/peer
    python -m deep_gemm bench --protocol seed --peer /path --json out.json --plot out.png

Each implementation runs in a process of its own with the same inputs; they take turns, round by
round. Reported: device time (median), rate, error against a float32 reference, ratio peer / ours,
geometric means a family. Needs a GPU. Rows are those of cases.csv beside this file.
"""

from __future__ import annotations

from ._command import add_arguments, main

__all__ = ["add_arguments", "main"]
