"""GilScopedRelease in a real Python process: whether a second thread runs meanwhile."""

import ctypes
import os
import pathlib
import threading

import pytest


def library(mode: str) -> pathlib.Path:
    here = pathlib.Path(__file__).parent
    if "TEST_SRCDIR" in os.environ:
        here = pathlib.Path(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
        here = here / "tests" / "deepjit_core" / "utils"
    return here / f"libgil_probe_{mode}.so"


def steps_meanwhile(loader: type[ctypes.CDLL], mode: str) -> int:
    """How often another thread gets to run while one sleeps 300 ms in the library."""
    sleep = loader(str(library(mode))).sleep_without_gil
    steps = 0
    is_over = False
    has_begun = threading.Event()

    def count() -> None:
        nonlocal steps
        has_begun.set()
        pause = threading.Event()
        while not is_over:
            pause.wait(0.005)
            steps += 1

    thread = threading.Thread(target=count)
    thread.start()
    has_begun.wait()
    before = steps
    sleep(300)
    seen = steps - before
    is_over = True
    thread.join()
    return seen


def test_other_threads_run_while_the_library_sleeps() -> None:
    # PyDLL keeps the GIL held at the call, as a C extension has it.
    assert steps_meanwhile(ctypes.PyDLL, "released") >= 5


def test_compiled_out_nothing_is_released() -> None:
    assert steps_meanwhile(ctypes.PyDLL, "held") <= 1


@pytest.mark.parametrize("mode", ["released", "held"])
def test_a_thread_without_the_gil_may_call_it(mode: str) -> None:
    # CDLL has released the GIL already: there is nothing to do, and nothing breaks.
    assert steps_meanwhile(ctypes.CDLL, mode) >= 5
