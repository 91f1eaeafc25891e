"""Rewrites the committed snapshots of the public surface: schemas.txt and api.txt.

    python -m tests.golden.update            # then read the diff

`snapshots()` is what `tests/deep_gemm/test_api_snapshot.py` compares with the files.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import deep_gemm
from deep_gemm import _ops

GOLDEN = Path(__file__).resolve().parent
_MODULES = ("", "utils", "utils.math", "utils.layout", "utils.dist", "testing", "reference")
_MORE = ("errors", "epilogue", "mega", "_C")


def _signature(value: object) -> str:
    if inspect.isclass(value):
        return " class"
    if callable(value):
        call = inspect.signature(value)
        bare = [p.replace(annotation=inspect.Parameter.empty) for p in call.parameters.values()]
        return str(inspect.Signature(bare))
    return ""


def _api() -> str:
    lines = []
    for name in _MODULES + _MORE:
        module = deep_gemm
        for part in filter(None, name.split(".")):
            module = getattr(module, part)
        where = ".".join(filter(None, ("deep_gemm", name)))
        for public in sorted(module.__all__):
            lines.append(f"{where}.{public}{_signature(getattr(module, public))}")
    return "\n".join(lines) + "\n"


def snapshots() -> dict[str, str]:
    """File name to its text, as the package stands now."""
    return {"api.txt": _api(), "schemas.txt": "\n".join(_ops.query("schemas")) + "\n"}


def main() -> None:
    """Write every snapshot."""
    for name, text in snapshots().items():
        (GOLDEN / name).write_text(text)
        print(f"wrote {GOLDEN / name}")


if __name__ == "__main__":
    main()
