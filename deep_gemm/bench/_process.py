"""A worker process: starts one, asks it questions, ends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from .. import errors

__all__ = ["Worker"]

_FOLDER = Path(__file__).resolve().parent


class Worker:
    """`with Worker(root) as worker: worker.ask(do="prepare", row=row)`.

    `root` is the folder that holds a `deep_gemm` package. Answers with `failed` are returned, not
    raised: a row that one implementation cannot run is a result.
    """

    def __init__(self, root: Path, **variables: str) -> None:
        path = os.pathsep.join(
            filter(None, [str(root.resolve()), os.environ.get("PYTHONPATH", "")])
        )
        self._process = subprocess.Popen(
            [sys.executable, "-m", "_worker.worker"],
            cwd=_FOLDER,  # first on the path of a module run; it holds no deep_gemm
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path, **variables},
        )
        self.hello = self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            raise errors.Device(
                errors.describe(
                    "bench",
                    "worker",
                    f"a process that ended with code {code}",
                    "WORKER_ALIVE",
                    "a worker answers until it is told to stop",
                    "read its messages above",
                )
            )
        return json.loads(line)

    def ask(self, **question: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return self._read()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
