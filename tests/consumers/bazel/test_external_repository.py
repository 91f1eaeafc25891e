"""The product as an external repository of a tiny workspace."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]


@pytest.mark.skipif(shutil.which("bazel") is None, reason="no bazel on PATH")
def test_a_workspace_builds_programs_on_the_host_and_the_cuda_back_end(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    shutil.copytree(HERE / "workspace", workspace)
    (workspace / "WORKSPACE").write_text(
        (HERE / "workspace/WORKSPACE").read_text().replace("PATH_OF_DEEPGEMM", str(ROOT))
    )
    output = tmp_path / "output"
    # Without a server, which would outlive the test; nothing of this run's output is shared. The
    # system's file stays in force: it tells Debian's Bazel where its own parts lie.
    command = ["bazel", "--nohome_rc", "--batch", "--host_jvm_args=-Xmx1g"]
    command += [f"--output_user_root={output}", "test", "//...", "--jobs=1"]
    command += ["--spawn_strategy=processwrapper-sandbox,local", "--test_output=errors"]
    # The library that this test was given, so that the other Bazel need not fetch it again.
    if library := os.environ.get("DJ_JIT_NVRTC_LIBRARY"):
        command.append(f"--test_env=CONSUMER_JIT_NVRTC_LIBRARY={Path(library).resolve()}")
    environment = {name: os.environ[name] for name in ("PATH", "CC", "CXX") if name in os.environ}
    environment["HOME"] = str(tmp_path)
    done = subprocess.run(
        command, cwd=workspace, env=environment, capture_output=True, text=True, timeout=840
    )
    # Bazel makes its folders read-only; pytest could not remove them later.
    subprocess.run(["chmod", "-R", "u+w", str(output)], check=False)
    shutil.rmtree(output, ignore_errors=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]
    for name in ("uses_the_jit_test", "uses_cuda_test"):
        assert f"//:{name}" in done.stdout, done.stdout
    assert done.stdout.count("PASSED") == 2
