"""The CUDA back end on a real GPU: launches, streams, graphs, threads, forks."""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cuda_build import (
    HERE,
    build_library,
    cuda_include_dir,
    load_cases,
    torch_target,
    why_no_gpu,
)

pytestmark = [
    pytest.mark.skipif(bool(why_no_gpu()), reason=f"needs a GPU: {why_no_gpu()}"),
    pytest.mark.skipif(cuda_include_dir() is None, reason="not fetched: CUDA's headers"),
]

CASES = re.findall(r"DJT_CASE\((\w+)\)", (HERE / "gpu_cases.cpp").read_text())
CASES = [name for name in CASES if name != "name"]

# Runs the cases one by one and says so after each: a crash shows where it happened.
WORKER = """
import json, sys
sys.path.insert(0, sys.argv[1])
from cuda_build import load_cases
cases = load_cases(sys.argv[2])
for name in sys.argv[3:]:
    print(json.dumps([name, cases.djt_run(name.encode()).decode()]), flush=True)
"""


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, str(HERE), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("cuda") / "libgpu_cases.so"
    return build_library(HERE / "gpu_cases.cpp", target)


@pytest.fixture(scope="module")
def answers(library: Path) -> dict[str, str]:
    """What each case said, in one process without torch."""
    done = run_python(WORKER, str(library), *CASES)
    said = dict(json.loads(line) for line in done.stdout.splitlines())
    died = f"the worker ended with {done.returncode} before this case: {done.stderr[-2000:]}"
    return {name: said.get(name, died) for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, answers: dict[str, str]) -> None:
    if answers[name].startswith("skip: "):
        pytest.skip(answers[name].removeprefix("skip: "))
    assert answers[name] == ""


FORK_FIRST = """
import os, sys
sys.path.insert(0, sys.argv[1])
from cuda_build import load_cases
cases = load_cases(sys.argv[2])
def add():
    text = cases.djt_run(b"vector_add_on_an_explicit_stream").decode()
    if text: print(text, file=sys.stderr)
    return 1 if text else 0
pids = []
for _ in range(3):
    pid = os.fork()
    if pid == 0: os._exit(add())
    pids.append(pid)
codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
print(codes, add())
"""

FORK_AFTER = """
import os, sys
sys.path.insert(0, sys.argv[1])
from cuda_build import load_cases
cases = load_cases(sys.argv[2])
assert cases.djt_run(b"vector_add_on_an_explicit_stream") == b""
sys.stdout.flush()
pid = os.fork()
if pid == 0:
    print(cases.djt_run(b"vector_add_on_an_explicit_stream").decode(), flush=True)
    os._exit(0)
os.waitpid(pid, 0)
"""


def test_processes_forked_before_the_first_use_each_get_the_right_answer(library: Path) -> None:
    done = run_python(FORK_FIRST, str(library))
    assert done.stdout.strip() == "[0, 0, 0] 0", done.stderr


def test_a_process_forked_after_the_first_use_is_told_so(library: Path) -> None:
    done = run_python(FORK_AFTER, str(library))
    assert "forked after its parent used CUDA" in done.stdout, done.stdout + done.stderr


class TorchAdd:
    """One launch of the vector add on torch's tensors."""

    def __init__(self, library: Path, torch: Any) -> None:
        self.cases = load_cases(library)
        self.torch = torch

    def __call__(self, out: Any, a: Any, b: Any, stream: int | None = None, cold: int = 0) -> None:
        answer = self.cases.djt_add(
            out.data_ptr(), a.data_ptr(), b.data_ptr(), out.numel(), stream or 0,
            int(stream is not None), 0, cold,
        )  # fmt: skip
        assert answer == b"", answer.decode()

    def operands(self, seed: int) -> tuple[Any, Any, Any]:
        torch = self.torch
        generator = torch.Generator(device="cuda").manual_seed(seed)
        a, b = (
            torch.randint(-1000, 1000, (100_003,), dtype=torch.int32, device="cuda",
                          generator=generator)
            for _ in range(2)
        )  # fmt: skip
        return torch.full_like(a, -7), a, b


@pytest.fixture
def add(library: Path) -> Iterator[TorchAdd]:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    yield TorchAdd(library, torch)
    torch.cuda.synchronize()


def test_an_unset_stream_is_the_current_stream_of_torch(add: TorchAdd) -> None:
    torch = add.torch
    side = torch.cuda.Stream()
    out, a, b = add.operands(1)
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        # A launch on any other stream would read the operand before this sleep ends.
        torch.cuda._sleep(50_000_000)
        a.add_(5)
        add(out, a, b)
        want = a + b
    side.synchronize()
    assert torch.equal(out, want)


def test_two_streams_run_the_same_kernel_side_by_side(add: TorchAdd) -> None:
    torch = add.torch
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    work = [add.operands(seed) for seed in (2, 3)]
    torch.cuda.synchronize()
    for _ in range(50):
        for stream, (out, a, b) in zip(streams, work, strict=True):
            add(out, a, b, stream=stream.cuda_stream)
    torch.cuda.synchronize()
    for out, a, b in work:
        assert torch.equal(out, a + b)


def test_a_captured_warm_launch_replays_with_new_data(add: TorchAdd) -> None:
    torch = add.torch
    out, a, b = add.operands(4)
    add(out, a, b)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        add(out, a, b)
    for repeat in range(100):
        a.copy_(add.operands(repeat)[1])
        graph.replay()
        assert torch.equal(out, a + b), repeat


def test_a_cold_first_call_inside_a_capture_works(add: TorchAdd) -> None:
    torch = add.torch
    out, a, b = add.operands(5)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        add(out, a, b, cold=1)
    for repeat in range(3):
        a.copy_(add.operands(repeat)[1])
        graph.replay()
        assert torch.equal(out, a + b), repeat


@pytest.fixture(scope="module")
def streams_library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    torch_include = _torch_include()
    target = tmp_path_factory.mktemp("cuda") / "libtorch_streams.so"
    library = ctypes.CDLL(
        str(
            build_library(
                HERE / "torch_streams.cpp",
                target,
                "-isystem",
                str(torch_include),
                f"-DTORCH_TARGET_VERSION={torch_target()}",
            )
        )
    )
    for name in ("djt_current_stream", "djt_pool_stream", "djt_guarded_stream"):
        getattr(library, name).restype = ctypes.c_void_p
    library.djt_guarded_stream.argtypes = [ctypes.c_void_p, ctypes.c_int]
    return library


def _torch_include() -> Path:
    torch = pytest.importorskip("torch")
    return Path(torch.__file__).parent / "include"


def test_the_consumers_header_sees_current_pool_and_guarded_streams(
    add: TorchAdd, streams_library: ctypes.CDLL
) -> None:
    torch = add.torch
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        assert streams_library.djt_current_stream(0) == side.cuda_stream
    before = torch.cuda.current_stream().cuda_stream
    pool = streams_library.djt_pool_stream(0)
    assert pool not in (None, 0, before)
    assert streams_library.djt_guarded_stream(pool, 0) == pool
    assert torch.cuda.current_stream().cuda_stream == before
    out, a, b = add.operands(6)
    torch.cuda.synchronize()
    add(out, a, b, stream=pool)
    torch.cuda.synchronize()
    assert torch.equal(out, a + b)
