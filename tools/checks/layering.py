"""Which layer may include what: the table, and the check of a tree against it.

    violations = layering.check(root)   # one line of text each: file, line, what, rule

The table is the data below; a change of the design is a change of one row. Read top to bottom,
data goes from the Python facade to the launch, and no include points back up.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.checks import tree

_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
_COMMENT = re.compile(r"//.*$")

# Headers whose cost or dependency a public header must not pass on.
HEAVY = r"format|regex|iostream"
STANDARD = r"[a-z_0-9]+|(sys|linux|asm|arpa|netinet)/[a-z_0-9]+\.h|[a-z_0-9]+\.h"
SYSTEM = rf"(?!({HEAVY})$|cuda|nvrtc|acl|Python|torch|pybind11)({STANDARD})"
TORCH_STABLE = r"torch/(csrc/stable|headeronly|csrc/inductor/aoti_torch)/.*"
CORE = r"deep_jit/(?!backend/).*"
ABI = r"deep_gemm/(abi|numeric)/\w+\.h"
# Of the core, what every layer may use: text, digests and typed errors, no state.
TEXT = r"deep_jit/utils/(exception|hash|json|macros|str)\.hpp"


def csrc(*layers: str) -> str:
    return rf"deep_gemm/csrc/({'|'.join(layers)})/.*"


@dataclass(frozen=True)
class Layer:
    """Files that match `path` may include what matches `may_include`, and hold no `never`."""

    name: str
    path: str
    may_include: tuple[str, ...]
    never: str = ""


PROCESS_STATE = r"\bgetenv\b|\bstd::chrono\b|\bprintf\b|\bstd::cout\b|\bstd::cerr\b"
MUTABLE_STATIC = r"^\s*static\s+(?!constexpr|const\b|inline)[\w:<>]+\s+\w+\s*[=;]"
KERNELS = r"deep_gemm/(host|portable|sm90)/.*"

# The first row that matches a file judges it.
LAYERS = (
    Layer(
        "deepjit_core's Python registration",
        r"deepjit_core/include/deep_jit/python_api\.hpp",
        (SYSTEM, CORE, r"pybind11/.*", r"Python\.h"),
    ),
    Layer("deepjit_core", r"deepjit_core/include/.*", (SYSTEM, CORE)),
    Layer(
        "backends_host", r"backends_host/include/.*", (SYSTEM, CORE, r"deep_jit/backend/host/.*")
    ),
    Layer(
        "backends_cuda's torch utilities",
        r"backends_cuda/include/.*/stable_torch_utils\.h",
        (SYSTEM, CORE, r"deep_jit/backend/cuda/.*", r"cuda.*\.h", TORCH_STABLE),
    ),
    Layer(
        "backends_cuda",
        r"backends_cuda/include/.*",
        (SYSTEM, CORE, r"deep_jit/backend/cuda/.*", r"cuda.*\.h", r"nvrtc\.h"),
    ),
    Layer(
        "backends_ascend",
        r"backends_ascend/include/.*",
        (SYSTEM, CORE, r"deep_jit/backend/ascend/.*", r"acl/.*"),
    ),
    Layer(
        "problem", r"deep_gemm/csrc/problem/.*", (SYSTEM, csrc("problem"), ABI, TEXT), PROCESS_STATE
    ),
    Layer(
        "plan",
        r"deep_gemm/csrc/plan/.*",
        (SYSTEM, csrc("plan", "problem"), ABI, TEXT),
        PROCESS_STATE
        + r"|\btorch::|^\s*static\s+(?!constexpr|const\b|inline|_?assert)[\w:<>]+\s+\w+\s*[=;]",
    ),
    Layer(
        "source",
        r"deep_gemm/csrc/source/.*",
        # The text it emits includes kernels.
        (
            SYSTEM,
            csrc("source", "plan", "problem"),
            ABI,
            TEXT,
            r"deep_gemm/(host|portable|sched|sm90)/.*",
        ),
        PROCESS_STATE + r"|\btorch::",
    ),
    Layer(
        "launch, the files that know a back end",
        r"deep_gemm/csrc/launch/(jit|tensor_maps|\w+_host|\w+_cuda|\w+_ascend)\.(hpp|cpp)",
        (
            SYSTEM,
            csrc("launch", "source", "plan", "problem"),
            r"deep_gemm/csrc/utils/state\.hpp",
            ABI,
            r"deep_jit/.*",
            r"cuda.*\.h",
        ),
        r"\btorch::",
    ),
    Layer(
        "launch",
        r"deep_gemm/csrc/launch/.*",
        (SYSTEM, csrc("launch", "source", "plan", "problem"), ABI, CORE),
        r"\btorch::",
    ),
    Layer(
        "ops",
        r"deep_gemm/csrc/ops/.*",
        (
            SYSTEM,
            r"deep_gemm/csrc/\w+\.(h|hpp)",
            csrc("ops", "launch", "plan", "problem", "utils"),
            ABI,
            CORE,
            TORCH_STABLE,
        ),
        r"\bgetenv\b",
    ),
    Layer(
        "an NPU kernel set",
        r"(deep_gemm/csrc/npu|backends_ascend/examples/npu_kernel_set)/.*",
        (
            SYSTEM,
            csrc("utils", "plan", "problem"),
            CORE,
            r"deep_jit/backend/ascend/.*",
            TORCH_STABLE,
        ),
    ),
    Layer(
        "the extension's surface",
        r"deep_gemm/csrc/.*",
        (SYSTEM, r"deep_gemm/csrc/.*", ABI, CORE, TORCH_STABLE),
    ),
    Layer(
        "host kernels",
        r"deep_gemm/include/deep_gemm/host/.*",
        (SYSTEM, r"deep_gemm/(host|abi|numeric)/.*", r"(\w+intrin|arm_\w+)\.h"),
    ),
    Layer(
        "what host and device share",
        r"deep_gemm/include/deep_gemm/(abi|numeric)/\w+\.h",
        (r"c?(stdint|stddef|string)(\.h)?|bit|type_traits|limits", ABI),
    ),
    Layer(
        "device kernels",
        r"deep_gemm/include/deep_gemm/.*",
        (r"deep_gemm/(?!host/|csrc/).*",),
        r"\bcutlass::|\bcute::",
    ),
)

# What a Python file of the package may import at its top, by regular expression.
PYTHON_MAY_IMPORT = r"(torch|__future__|absl|runfiles|tqdm|matplotlib|rich)(\.|$)"


def layer_of(path: str) -> Layer | None:
    """The row that judges a file, by its path from the root."""
    return next((layer for layer in LAYERS if re.fullmatch(layer.path, path)), None)


def check_cpp(path: str, text: str) -> Iterator[str]:
    """Violations in one C++ file, given its path from the root."""
    layer = layer_of(path)
    if layer is None:
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if found := _INCLUDE.match(line):
            if not any(re.fullmatch(allowed, found[1]) for allowed in layer.may_include):
                yield f"{path}:{number}: {layer.name} may not include <{found[1]}>"
        elif layer.never and (bad := re.search(layer.never, _COMMENT.sub("", line))):
            yield f"{path}:{number}: {layer.name} may not contain {bad[0].strip()!r}"


def check_python(path: str, text: str, standard: frozenset[str]) -> Iterator[str]:
    """Violations in one file of the Python package: absolute imports of itself, foreign imports."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        else:
            continue
        for name in names:
            top = name.split(".")[0]
            if top == "deep_gemm":
                yield f"{path}:{node.lineno}: the package imports itself relatively"
            elif top not in standard and not re.match(PYTHON_MAY_IMPORT, name):
                yield f"{path}:{node.lineno}: the package may not import {name} at its top"


def check(root: Path) -> list[str]:
    """Every violation of the tree under `root`."""
    violations: list[str] = []
    for path in tree.files(root, ".h", ".hpp", ".cuh", ".cpp"):
        name = path.relative_to(root).as_posix()
        violations += check_cpp(name, path.read_text())
    for path in tree.files(root / "deep_gemm", ".py"):
        name = path.relative_to(root).as_posix()
        violations += check_python(name, path.read_text(), frozenset(sys.stdlib_module_names))
    return violations
