"""The bench command without a GPU: cases, workers, reports; and its refusal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import deep_gemm
from deep_gemm import errors
from deep_gemm.__main__ import main as cli
from deep_gemm.bench import _cases, _measure, _process, _report

ROOT = Path(deep_gemm.__file__).resolve().parent.parent


def test_every_row_of_the_file_belongs_to_a_known_family() -> None:
    lines = _cases.DEFAULT.read_text().splitlines()
    assert len(_cases.load()) == len(lines) - 1 > 300


def test_rows_have_numbers_and_titles() -> None:
    row = _cases.load(families=["k_grouped_fp8"])[0]
    assert (row["m"], row["n"], row["k"], row["groups"], row["accumulate"]) == (
        4096,
        7168,
        28416,
        4,
        1,
    )
    assert _cases.title(row) == "4096x7168x28416 g4 NT flat FP32 +c 1x128"
    titles = [(row["family"], _cases.title(row)) for row in _cases.load()]
    assert len(set(titles)) > 0.9 * len(titles)


def _result(us: float, peer: float | None) -> dict[str, object]:
    result: dict[str, object] = {"family": "f", "case": "c", "ours_us": us}
    return result | ({"peer_us": peer, "vs_peer": peer / us} if peer else {})


def test_means_are_geometric_and_skip_rows_without_a_peer() -> None:
    means = _report.family_means([_result(1.0, 2.0), _result(1.0, 0.5), _result(1.0, None)])
    assert means == [
        {
            "family": "f",
            "rows": 3,
            "vs_peer": pytest.approx(1.0),
            "vs_peer_lowest": 0.5,
            "vs_vendor": None,
            "vs_vendor_lowest": None,
        }
    ]


def test_a_line_shows_what_failed_below_it() -> None:
    text = _report.line(_result(12.5, 25.0) | {"peer_failed": "RuntimeError: no"})
    assert "12.50" in text and " 2.000" in text
    assert text.splitlines()[1].strip() == "peer_failed: RuntimeError: no"


def test_results_are_written_as_json_and_csv(tmp_path: Path) -> None:
    results = [_result(1.0, 2.0), _result(3.0, None)]
    _report.write_json(tmp_path / "a.json", results)
    assert json.loads((tmp_path / "a.json").read_text()) == results
    _report.write_csv(tmp_path / "a.csv", results)
    assert (tmp_path / "a.csv").read_text().splitlines()[0] == "family,case,ours_us,peer_us,vs_peer"


_STAND_IN = """
def fp8_gemm_nt(a, b, d, c=None): raise RuntimeError("not here")
"""


def test_a_worker_reports_a_failed_row_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "deep_gemm.py").write_text(_STAND_IN)
    with _process.Worker(tmp_path) as worker:
        assert worker.hello["file"] == str(tmp_path / "deep_gemm.py")
        for _ in range(2):
            assert "failed" in worker.ask(do="measure", what="call", n=1)
        assert "prepare a row" in worker.ask(do="error")["failed"]


def test_a_worker_that_dies_is_an_error_of_the_device(tmp_path: Path) -> None:
    (tmp_path / "deep_gemm.py").write_text("raise SystemExit(3)")
    with pytest.raises(errors.Device, match="ended with code 3"):
        _process.Worker(tmp_path)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_without_a_gpu_the_command_says_where_to_go(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["bench"]) == 1
    assert "BENCH_DEVICE" in capsys.readouterr().err


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_row_is_measured_beside_itself() -> None:
    row = _cases.SEED["fp8_gemm_nt"] | {"m": 256, "n": 512, "k": 512}
    (result,) = _measure.measure_rows([row], ROOT, ROOT, lambda _: None)
    assert result["ours_error"] < 1e-3 and result["ours_us"] > 0 and result["vs_peer"] > 0
