"""The published test helpers do what their contract says, without a GPU."""

import os
import sys

import pytest
import torch

from deep_gemm import testing


def test_calc_diff_of_equal_zero_and_opposite_tensors() -> None:
    x = torch.tensor([1.0, 2.0])
    assert testing.calc_diff(x, x) == 0.0
    assert testing.calc_diff(torch.zeros(3), torch.zeros(3)) == 0.0
    assert testing.calc_diff(x, -x) == 2.0
    assert testing.calc_diff(x, 2 * x) == pytest.approx(1 - 2 * 10 / 25)


def test_count_bytes_goes_through_nested_pairs() -> None:
    x = torch.empty(3, dtype=torch.float32)
    assert testing.count_bytes(x, (x, [x.bfloat16(), None]), None) == 12 + 12 + 6


def test_bitwise_equal_tells_signed_zeros_and_nans_apart() -> None:
    nan = torch.tensor([float("nan"), 1.0])
    testing.assert_bitwise_equal(nan, nan.clone())
    with pytest.raises(AssertionError, match="label: element 0"):
        testing.assert_bitwise_equal(torch.tensor([0.0]), torch.tensor([-0.0]), "label")
    with pytest.raises(AssertionError, match="dtype"):
        testing.assert_bitwise_equal(torch.ones(1), torch.ones(1).double())
    with pytest.raises(AssertionError, match="shape"):
        testing.assert_bitwise_equal(torch.ones(1), torch.ones(2))


def test_bench_returns_seconds() -> None:
    assert 0 < testing.bench(lambda: torch.ones(8).sum(), num_warmups=1, num_tests=2) < 5


def test_bench_kineto_names_kernels() -> None:
    def run() -> None:
        torch.ones(64, 64) @ torch.ones(64, 64)

    one = testing.bench_kineto(run, "aten::mm", num_tests=2, flush_l2=False)
    assert isinstance(one, float) and one > 0
    both = testing.bench_kineto(run, ("aten::mm", "no_such_kernel"), num_tests=2, flush_l2=False)
    assert isinstance(both, tuple) and both[0] > 0 and both[1] == 0


def test_bench_kineto_steps_aside_for_another_profiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DG_USE_NVIDIA_TOOLS", "1")

    def never() -> None:
        raise AssertionError("must not run")

    assert testing.bench_kineto(never, "x") == 1
    assert testing.bench_kineto(never, ("x", "y")) == (1, 1)


def test_suppression_covers_the_descriptors(capfd: pytest.CaptureFixture[str]) -> None:
    with testing.suppress_stdout_stderr():
        os.write(1, b"hidden")
        print("hidden too", file=sys.stderr)
    with testing.empty_suppress():
        os.write(1, b"seen")
    assert capfd.readouterr().out == "seen"


def test_filter_runs_only_when_its_condition_holds() -> None:
    calls = []
    testing.test_filter(lambda: True)(lambda: calls.append(1))()
    testing.test_filter(lambda: False)(lambda: calls.append(2))()
    assert calls == [1]


def test_ignore_env_hides_a_variable_for_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DG_PROBE", "x")
    probe = testing.ignore_env("DG_PROBE", lambda: True)(lambda: os.environ.get("DG_PROBE"))
    assert probe() is None and os.environ["DG_PROBE"] == "x"


def test_arch_major_is_zero_without_a_gpu() -> None:
    assert testing.get_arch_major() >= 0
