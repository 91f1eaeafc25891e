"""Importing and first use in bare environments: nothing but torch, after fork, no compiler."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import deep_gemm
from deep_gemm import errors

ROOT = Path(deep_gemm.__file__).absolute().parents[1]
# What torch itself says where NumPy is absent.
QUIET_TORCH = ("-W", "ignore:Failed to initialize NumPy")


def run_bare(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Like `env -i`: nothing but what finds torch and the package."""
    paths = [str(ROOT), *(path for path in sys.path if path.endswith("-packages"))]
    return subprocess.run(
        [sys.executable, *QUIET_TORCH, "-c", f"import sys; sys.path[:0] = {paths!r}\n{code}"],
        capture_output=True,
        text=True,
        timeout=300,
        env=env,
        check=False,
    )


def test_import_needs_no_environment_and_takes_no_device() -> None:
    done = run_bare(
        "import torch, deep_gemm\n"
        "assert not torch.cuda.is_initialized()\n"
        "ok, why = deep_gemm.supports('fp8_gemm_nt')\n"
        "print(deep_gemm.__version__, ok)\n"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [deep_gemm.__version__, "True"] and done.stderr == ""


def test_import_needs_torch_only() -> None:
    done = run_bare(
        "import sys\n"
        "class Block:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('numpy', 'absl', 'tqdm', 'triton'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Block())\n"
        "import deep_gemm\n"
    )
    assert done.returncode == 0, done.stderr


def test_forked_children_work_after_import(tmp_path: Path) -> None:
    done = run_bare(
        "import os, torch, deep_gemm\n"
        "a = torch.eye(16).bfloat16(); d = torch.zeros(16, 16)\n"
        "deep_gemm.bf16_gemm_nt(a, a, d)\n"
        "children = []\n"
        "for _ in range(8):\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        e = torch.zeros(16, 16)\n"
        "        deep_gemm.bf16_gemm_nt(a, a, e)\n"
        "        os._exit(0 if torch.equal(d, e) else 1)\n"
        "    children.append(pid)\n"
        "assert [os.waitpid(p, 0)[1] for p in children] == [0] * 8\n",
        DG_JIT_CACHE_DIR=str(tmp_path),
        PATH=os.environ.get("PATH", ""),
    )
    assert done.returncode == 0, done.stderr


def test_cache_directory_is_read_at_the_first_compile(tmp_path: Path) -> None:
    code = (
        "import os, torch, deep_gemm\n"
        f"os.environ['DG_JIT_CACHE_DIR'] = {str(tmp_path / 'late dir')!r}\n"
        "a = torch.eye(16).bfloat16(); d = torch.zeros(16, 16)\n"
        "deep_gemm.bf16_gemm_nt(a, a, d)\n"
        "print(int(deep_gemm.counters()['compiles']))\n"
    )
    env = {"DG_JIT_CACHE_DIR": str(tmp_path / "early"), "PATH": os.environ.get("PATH", "")}
    first, second = run_bare(code, **env), run_bare(code, **env)
    assert first.returncode == 0 and second.returncode == 0, first.stderr + second.stderr
    assert int(first.stdout) >= 1 and int(second.stdout) == 0
    assert (tmp_path / "late dir").is_dir() and not (tmp_path / "early").exists()


def test_forbid_mode_names_the_kernel_and_how_to_get_it(tmp_path: Path) -> None:
    done = run_bare(
        "import torch, deep_gemm\n"
        "a = torch.eye(16).bfloat16(); d = torch.zeros(16, 16)\n"
        "try:\n    deep_gemm.bf16_gemm_nt(a, a, d)\n"
        "except deep_gemm.errors.Cache as error:\n    print(error)\n",
        DG_JIT_CACHE_DIR=str(tmp_path),
        DG_JIT_MODE="forbid",
        PATH=os.environ.get("PATH", ""),
    )
    assert done.returncode == 0, done.stderr
    assert "bf16_gemm" in done.stdout and "precompile" in done.stdout


def test_without_a_compiler_the_references_answer_and_say_so_once(tmp_path: Path) -> None:
    done = run_bare(
        "import torch, deep_gemm\n"
        "a = torch.eye(16).bfloat16(); d = torch.zeros(16, 16)\n"
        "deep_gemm.bf16_gemm_nt(a, a, d); deep_gemm.bf16_gemm_nt(a, a, d, d)\n"
        "assert torch.equal(d, 2 * torch.eye(16)), d\n"
        "x = deep_gemm.per_token_cast_to_fp8(torch.eye(16), False)\n"
        "w = deep_gemm.per_block_cast_to_fp8(torch.eye(16), False)\n"
        "deep_gemm.fp8_gemm_nt(x, w, d)\n"
        "assert torch.allclose(d, torch.eye(16), atol=1e-6), d\n",
        DG_JIT_CACHE_DIR=str(tmp_path),
        PATH=str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("warning: no C++ compiler") == 1, done.stderr


def test_a_folder_that_is_no_package_is_refused_as_root(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidArgument, match="PACKAGE_ROOT"):
        deep_gemm._C.init(str(tmp_path))
    with pytest.raises(TypeError):
        deep_gemm._C.init(object())
    a = torch.ones(2, 64, dtype=torch.bfloat16)
    d = torch.empty(2, 2)
    deep_gemm.bf16_gemm_nt(a, a, d)
    assert bool((d == 64).all())
