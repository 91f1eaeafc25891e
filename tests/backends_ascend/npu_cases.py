"""What test_torch_stream asserts, run in a process of its own: `npu_cases.py with|without`.

A back end of torch can be registered once in a process and never taken back. Prints a JSON object
from the name of each case to its traceback, empty where all was well.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
import traceback
import types
from collections.abc import Callable

import torch


class Npu:
    """The stand-in for torch_npu and the simulator below it, from the environment."""

    def __init__(self) -> None:
        torch.ops.load_library(os.environ["FAKE_NPU"])
        torch._register_device_module("npu", types.ModuleType("torch.npu"))
        self.fake = ctypes.CDLL(os.environ["FAKE_NPU"])
        self.simulator = ctypes.CDLL(os.environ["ASCEND_HOME_PATH"] + "/lib64/libascendcl.so")
        self.simulator.sim_violations.restype = ctypes.c_char_p

    def use_stream(self, device: int, stream: int) -> None:
        self.fake.fake_npu_use_stream(device, ctypes.c_long(stream))


def three(name: str, *arguments: object) -> tuple[int, str]:
    """A function of three_back_ends.cpp: 1 and nothing, or 0 and the text of its exception."""
    text = ctypes.create_string_buffer(4000)
    function = getattr(ctypes.CDLL(os.environ["THREE_BACK_ENDS"]), name)
    return function(*arguments, text, len(text)), text.value.decode()


def tensors(device: str, n: int = 1000) -> tuple[torch.Tensor, ...]:
    a, b = torch.randn(n), torch.randn(n)
    return a, b, torch.full((n,), -1.0).to(device), a.to(device), b.to(device)


def scaled_add(*arguments: object) -> None:
    torch.ops.deep_gemm.scaled_add(*arguments)


def message_of(*arguments: object) -> str:
    try:
        scaled_add(*arguments)
    except RuntimeError as error:
        return str(error)
    raise AssertionError("no error")


def an_operator_runs_on_the_device_of_its_tensors(npu: Npu) -> None:
    for device in ("npu:0", "npu:1"):
        a, b, out, a_npu, b_npu = tensors(device)
        scaled_add(out, a_npu, b_npu, 0.5)
        assert out.device == torch.device(device)
        torch.testing.assert_close(out.cpu(), a + 0.5 * b)
    empty = torch.empty(0).to("npu:0")
    scaled_add(empty, empty, empty, 1.0)


def it_runs_on_the_current_stream_of_the_calling_thread(npu: Npu) -> None:
    a, b, out, a_npu, b_npu = tensors("npu:0")
    npu.use_stream(0, 0)
    scaled_add(out, a_npu, b_npu, 1.0)
    torch.testing.assert_close(out.cpu(), a + b)
    # A slow task tells whose stream it is: only waiting for that one shows the numbers.
    npu.simulator.sim_latency_us(ctypes.c_long(500000))
    npu.use_stream(0, 3)
    scaled_add(out, a_npu, b_npu, 2.0)
    npu.use_stream(0, 0)
    torch.testing.assert_close(out.cpu(), a + b)  # waits for stream 0
    npu.use_stream(0, 3)
    torch.testing.assert_close(out.cpu(), a + 2 * b)  # waits for stream 3
    npu.simulator.sim_latency_us(ctypes.c_long(0))
    npu.use_stream(0, 0)


def threads_have_devices_and_streams_of_their_own(npu: Npu) -> None:
    failures: list[BaseException] = []

    def work(device: int, stream: int) -> None:
        try:
            npu.use_stream(device, stream)
            for scale in range(5):
                a, b, out, a_npu, b_npu = tensors(f"npu:{device}", 100 + scale)
                scaled_add(out, a_npu, b_npu, float(scale))
                torch.testing.assert_close(out.cpu(), a + scale * b)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i % 2, i)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def wrong_tensors_and_faults_raise_and_the_next_call_is_right(npu: Npu) -> None:
    a, b, out, a_npu, b_npu = tensors("npu:0")
    assert "SAME_FLOAT32" in message_of(out, torch.randn(10).to("npu:0"), b_npu, 1.0)
    assert "SAME_FLOAT32" in message_of(out, a.double().to("npu:0"), b_npu, 1.0)
    npu.simulator.sim_fail(b"aclrtLaunchKernelWithHostArgs", 1, 507002)
    text = message_of(out, a_npu, b_npu, 1.0)
    assert "[Device] ascend: aclrtLaunchKernelWithHostArgs of kernel 'scaled_add'" in text
    scaled_add(out, a_npu, b_npu, 1.0)
    torch.testing.assert_close(out.cpu(), a + b)


def one_extension_serves_host_cuda_and_npu(npu: Npu) -> None:
    root = os.environ["ROOT"].encode()
    for name in ("host_kernel_writes_seven", "cuda_report_is_printed"):
        assert three(name, root) == (1, "")
    for device in (0, 1):
        npu.use_stream(device, 2 + device)
        out = torch.zeros(1, dtype=torch.int32).to(f"npu:{device}")
        pointer = ctypes.c_void_p(out.data_ptr())
        assert three("npu_kernel_writes_seven", root, device, pointer) == (1, "")
        assert out.cpu().item() == 7
        assert three("streams_are_equal", device) == (1, "")


def nothing_was_done_that_a_device_would_suffer_from(npu: Npu) -> None:
    assert npu.simulator.sim_violations() == b""


def a_cpu_tensor_is_torchs_to_refuse(_: None) -> None:
    a = torch.randn(4)
    assert "CPU" in message_of(a, a, a, 1.0)


def an_unset_stream_is_an_error_without_a_back_end_called_npu(_: None) -> None:
    is_done, text = three("streams_are_equal", 0)
    assert not is_done
    assert "this torch has no npu back end" in text
    assert "Rule STREAM_KNOWN" in text


CASES: dict[str, list[Callable[..., None]]] = {
    "with": [
        an_operator_runs_on_the_device_of_its_tensors,
        it_runs_on_the_current_stream_of_the_calling_thread,
        threads_have_devices_and_streams_of_their_own,
        wrong_tensors_and_faults_raise_and_the_next_call_is_right,
        one_extension_serves_host_cuda_and_npu,
        nothing_was_done_that_a_device_would_suffer_from,
    ],
    "without": [
        a_cpu_tensor_is_torchs_to_refuse,
        an_unset_stream_is_an_error_without_a_back_end_called_npu,
    ],
}


def main(kind: str) -> None:
    torch.ops.load_library(os.environ["NPU_KERNEL_SET"])
    npu = Npu() if kind == "with" else None
    results = {}
    for case in CASES[kind]:
        try:
            case(npu)
            results[case.__name__] = ""
        except BaseException:
            results[case.__name__] = traceback.format_exc()
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1])
