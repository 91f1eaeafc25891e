"""The extension asks for torch's stable ABI, libtorch_cpu.so and the C++ run time, no more."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.checks import tree


def extension() -> Path:
    from runfiles import Runfiles

    runfiles = Runfiles.Create()
    assert runfiles is not None
    found = runfiles.Rlocation("deepgemm/deep_gemm/_C_extension.abi3.so")
    assert found is not None
    return Path(found)


def dynamic_section() -> str:
    command = ["readelf", "--dynamic", "--wide", str(extension())]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_only_torch_and_the_run_time_are_needed() -> None:
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic_section()))
    assert "libtorch_cpu.so" in needed
    runtime = r"(libc|libm|libstdc\+\+|libgcc_s|libdl|libpthread|ld-linux[\w-]*)\.so\.\d+"
    others = needed - {"libtorch_cpu.so"}
    assert {name for name in others if not re.fullmatch(runtime, name)} == set()


def test_no_run_path_leads_into_a_build_folder() -> None:
    assert re.findall(r"\((?:RUNPATH|RPATH)\).*", dynamic_section()) == []


def test_only_the_control_functions_and_the_module_entry_are_exported() -> None:
    command = ["nm", "--dynamic", "--defined-only", str(extension())]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    names = {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}
    # deep_gemm_process is shared on purpose: it knows which copy has which namespace.
    ours = re.compile(r"_Z(GV|T[ISV])?N?K?(8deep_jit|9deep_gemm)")
    assert {name for name in names if ours.match(name)} == set()
    assert "PyInit__C_extension" in names
    assert "dg_query" in names


@pytest.mark.skipif(sys.version_info < (3, 11), reason="torch-abi-audit needs Python 3.11")
def test_the_auditor_finds_the_stable_abi_from_torch_2_10_on() -> None:
    command, environment = tree.lint_tool("torch-abi-audit")
    done = subprocess.run(
        [*command, str(extension()), "--json"], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.dumps(json.loads(done.stdout))
    assert re.search(r'"min_torch_version": "2\.10', report), report
