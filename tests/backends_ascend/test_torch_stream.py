"""An operator for torch's PrivateUse1 through the simulated NPU, and whose stream it runs on.

Each case is a process of its own: a back end of torch can be registered once in one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import ascend_build

PREAMBLE = """
import ctypes, os, threading, torch
torch.ops.load_library(os.environ["NPU_KERNEL_SET"])

def use_npu():
    import types
    torch.ops.load_library(os.environ["FAKE_NPU"])
    torch._register_device_module("npu", types.ModuleType("torch.npu"))
    return ctypes.CDLL(os.environ["FAKE_NPU"])

def sim(name, result=ctypes.c_long):
    library = ctypes.CDLL(os.environ["ASCEND_HOME_PATH"] + "/lib64/libascendcl.so")
    function = getattr(library, name)
    function.restype = result
    return function

def three(name, *args):
    text = ctypes.create_string_buffer(4000)
    function = getattr(ctypes.CDLL(os.environ["THREE_BACK_ENDS"]), name)
    return function(*args, text, 4000), text.value.decode()

def tensors(device, n=1000):
    a, b = torch.randn(n), torch.randn(n)
    return a, b, torch.full((n,), -1.0).to(device), a.to(device), b.to(device)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("npu")
    builds = (
        ascend_build.build_fake_npu,
        ascend_build.build_npu_kernel_set,
        ascend_build.build_three_back_ends,
    )
    # A missing header is a skip, which a thread could not say.
    ascend_build.acl_headers()
    ascend_build.cuda_headers()
    with ThreadPoolExecutor(2) as pool:
        fake_npu, kernel_set, three = pool.map(lambda build: str(build(folder)), builds)
    return {
        **os.environ,
        "ASCEND_HOME_PATH": str(ascend_build.lay_out_toolkit(folder / "cann")),
        "DG_JIT_CACHE_DIR": str(folder / "cache"),
        "FAKE_NPU": fake_npu,
        "NPU_KERNEL_SET": kernel_set,
        "THREE_BACK_ENDS": three,
        "THREE_JIT_CACHE_DIR": str(folder / "three_cache"),
        "ROOT": str(folder),
    }


def run(environment: dict[str, str], body: str, **variables: str) -> str:
    program = PREAMBLE + textwrap.dedent(body)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_an_operator_runs_on_the_device_of_its_tensors(environment: dict[str, str]) -> None:
    run(
        environment,
        """
        use_npu()
        for device in ("npu:0", "npu:1"):
            a, b, out, a_npu, b_npu = tensors(device)
            torch.ops.deep_gemm.scaled_add(out, a_npu, b_npu, 0.5)
            assert out.device == torch.device(device)
            torch.testing.assert_close(out.cpu(), a + 0.5 * b)
        assert sim("sim_violations", ctypes.c_char_p)() == b""
        """,
    )


def test_it_runs_on_the_current_stream_of_the_calling_thread(environment: dict[str, str]) -> None:
    run(
        environment,
        """
        npu = use_npu()
        a, b, out, a_npu, b_npu = tensors("npu:0")
        npu.fake_npu_use_stream(0, 0)
        torch.ops.deep_gemm.scaled_add(out, a_npu, b_npu, 1.0)
        torch.testing.assert_close(out.cpu(), a + b)
        # A slow task tells whose stream it is: only waiting for that one shows the numbers.
        sim("sim_latency_us", None)(ctypes.c_long(300000))
        npu.fake_npu_use_stream(0, 3)
        torch.ops.deep_gemm.scaled_add(out, a_npu, b_npu, 2.0)
        npu.fake_npu_use_stream(0, 0)
        torch.testing.assert_close(out.cpu(), a + b)       # waits for stream 0
        npu.fake_npu_use_stream(0, 3)
        torch.testing.assert_close(out.cpu(), a + 2 * b)   # waits for stream 3
        """,
    )


def test_threads_have_devices_and_streams_of_their_own(environment: dict[str, str]) -> None:
    run(
        environment,
        """
        npu = use_npu()
        failures = []
        def work(device, stream):
            try:
                npu.fake_npu_use_stream(device, stream)
                for scale in range(5):
                    a, b, out, a_npu, b_npu = tensors(f"npu:{device}", 100 + scale)
                    torch.ops.deep_gemm.scaled_add(out, a_npu, b_npu, float(scale))
                    torch.testing.assert_close(out.cpu(), a + scale * b)
            except BaseException as error:
                failures.append(error)
        threads = [threading.Thread(target=work, args=(i % 2, i)) for i in range(6)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert not failures, failures
        """,
    )


def test_wrong_tensors_and_a_fault_of_the_device_raise_and_leave_the_next_call_right(
    environment: dict[str, str],
) -> None:
    run(
        environment,
        """
        use_npu()
        a, b, out, a_npu, b_npu = tensors("npu:0")
        def message(*args):
            try:
                torch.ops.deep_gemm.scaled_add(*args)
            except RuntimeError as error:
                return str(error)
            raise AssertionError("no error")
        assert "SAME_FLOAT32" in message(out, torch.randn(10).to("npu:0"), b_npu, 1.0)
        assert "SAME_FLOAT32" in message(out, a.double().to("npu:0"), b_npu, 1.0)
        fail = sim("sim_fail", None)
        fail(b"aclrtLaunchKernelWithHostArgs", 1, 507002)
        assert "[Device] ascend: aclrtLaunchKernelWithHostArgs of kernel 'scaled_add'" in message(
            out, a_npu, b_npu, 1.0)
        torch.ops.deep_gemm.scaled_add(out, a_npu, b_npu, 1.0)
        torch.testing.assert_close(out.cpu(), a + b)
        empty = torch.empty(0).to("npu:0")
        torch.ops.deep_gemm.scaled_add(empty, empty, empty, 1.0)
        """,
    )


def test_without_a_back_end_a_cpu_tensor_is_torchs_to_refuse(environment: dict[str, str]) -> None:
    run(
        environment,
        """
        a = torch.randn(4)
        try:
            torch.ops.deep_gemm.scaled_add(a, a, a, 1.0)
        except NotImplementedError as error:
            assert "CPU" in str(error)
        else:
            raise AssertionError("no error")
        """,
    )


def test_one_extension_serves_host_cuda_and_npu(environment: dict[str, str]) -> None:
    run(
        environment,
        """
        npu, root = use_npu(), os.environ["ROOT"].encode()
        for name in ("host_kernel_writes_seven", "cuda_report_is_printed"):
            assert three(name, root) == (1, "")
        for device in (0, 1):
            npu.fake_npu_use_stream(device, 2 + device)
            out = torch.zeros(1, dtype=torch.int32).to(f"npu:{device}")
            pointer = ctypes.c_void_p(out.data_ptr())
            assert three("npu_kernel_writes_seven", root, device, pointer) == (1, "")
            assert out.cpu().item() == 7
            assert three("streams_are_equal", device) == (1, "")
        """,
    )


def test_without_a_back_end_called_npu_an_unset_stream_is_an_error(
    environment: dict[str, str],
) -> None:
    run(
        environment,
        """
        is_done, text = three("streams_are_equal", 0)
        assert not is_done and "this torch has no npu back end" in text, text
        assert "Rule STREAM_KNOWN" in text
        """,
    )
