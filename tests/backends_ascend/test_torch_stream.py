"""An operator for torch's PrivateUse1 through the simulated NPU, and whose stream it runs on.

The cases are in npu_cases.py, which runs once with a back end called npu and once without.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import ascend_build
import npu_cases


@functools.cache
def environment() -> dict[str, str]:
    folder = Path(tempfile.mkdtemp(prefix="npu_"))
    builds = (
        ascend_build.build_fake_npu,
        ascend_build.build_three_back_ends,
        ascend_build.build_npu_kernel_set,
    )
    # A missing header is a skip, which a thread could not say.
    ascend_build.acl_headers()
    ascend_build.cuda_headers()
    with ThreadPoolExecutor(2) as pool:
        fake_npu, three, kernel_set = pool.map(lambda build: str(build(folder)), builds)
    return {
        **os.environ,
        "ASCEND_HOME_PATH": str(ascend_build.lay_out_toolkit(folder / "cann")),
        "DG_JIT_CACHE_DIR": str(folder / "cache"),
        "FAKE_NPU": fake_npu,
        "NPU_KERNEL_SET": kernel_set,
        "ROOT": str(folder),
        "THREE_BACK_ENDS": three,
        "THREE_JIT_CACHE_DIR": str(folder / "three_cache"),
    }


@functools.cache
def results(kind: str) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, npu_cases.__file__, kind],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("case", npu_cases.CASES["with"], ids=lambda case: case.__name__)
def test_with_a_back_end_called_npu(case: object) -> None:
    text = results("with")[case.__name__]
    assert text == "", text


@pytest.mark.parametrize("case", npu_cases.CASES["without"], ids=lambda case: case.__name__)
def test_without_a_back_end_called_npu(case: object) -> None:
    text = results("without")[case.__name__]
    assert text == "", text
