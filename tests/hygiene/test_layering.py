"""The layering table holds for the tree, and catches what is planted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.checks import layering, tree


def test_no_include_points_against_the_street() -> None:
    assert layering.check(tree.root()) == []


PLANTED = {
    "deepjit_core/include/deep_jit/utils/a.hpp": "#include <torch/csrc/stable/tensor.h>",
    "deepjit_core/include/deep_jit/utils/b.hpp": "#include <deep_jit/backend/host/kernel.hpp>",
    "deepjit_core/include/deep_jit/utils/c.hpp": "#include <format>",
    "backends_host/include/deep_jit/backend/host/a.hpp": "#include <cuda.h>",
    "backends_cuda/include/deep_jit/backend/cuda/a.hpp": "#include <torch/csrc/stable/tensor.h>",
    "backends_ascend/include/deep_jit/backend/ascend/a.hpp": "#include <cuda.h>",
    "deep_gemm/csrc/npu/a.cpp": "#include <deep_jit/backend/cuda/kernel.hpp>",
    "deep_gemm/csrc/plan/a.cpp": "#include <deep_gemm/csrc/launch/jit.hpp>",
    "deep_gemm/csrc/plan/b.cpp": 'const char* home = getenv("HOME");',
    "deep_gemm/csrc/plan/c.cpp": "static int calls = 0;",
    "deep_gemm/csrc/source/a.cpp": "#include <deep_gemm/csrc/ops/args.hpp>",
    "deep_gemm/csrc/problem/a.hpp": "#include <torch/csrc/stable/tensor.h>",
    "deep_gemm/csrc/launch/other.cpp": "#include <deep_jit/backend/host/kernel.hpp>",
    "deep_gemm/csrc/ops/a.cpp": "#include <cuda.h>",
    "deep_gemm/include/deep_gemm/sm90/a.cuh": "#include <cuda_fp8.h>",
    "deep_gemm/a.py": "import numpy",
    "deep_gemm/b.py": "from deep_gemm.utils import math",
}


@pytest.mark.parametrize("path", PLANTED)
def test_a_planted_violation_is_caught(path: str, tmp_path: Path) -> None:
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(PLANTED[path] + "\n")
    assert [line.split(":")[0] for line in layering.check(tmp_path)] == [path]


LEGAL = {
    "deepjit_core/include/deep_jit/utils/a.hpp": "#include <sys/stat.h>",
    "backends_host/include/deep_jit/backend/host/a.hpp": "#include <deep_jit/utils/env.hpp>",
    "deep_gemm/csrc/plan/a.cpp": "#include <deep_gemm/csrc/problem/gemm_problem.hpp>",
    "deep_gemm/csrc/plan/b.cpp": "// reads no getenv",
    "deep_gemm/csrc/plan/c.cpp": "static_assert(sizeof(int) == 4);",
    "deep_gemm/csrc/launch/gemm_host.cpp": "#include <deep_jit/backend/host/kernel.hpp>",
    "deep_gemm/csrc/npu/a.cpp": "#include <deep_jit/backend/ascend/kernel.hpp>",
    "deep_gemm/a.py": "from .utils import math",
}


@pytest.mark.parametrize("path", LEGAL)
def test_its_legal_twin_is_not(path: str, tmp_path: Path) -> None:
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(LEGAL[path] + "\n")
    assert layering.check(tmp_path) == []
