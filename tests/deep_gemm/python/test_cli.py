"""The command line answers in text and JSON, and its exit codes say yes or no."""

import json
from pathlib import Path

import pytest

from deep_gemm.__main__ import main


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str]:
    code = main(list(argv))
    return code, capsys.readouterr().out


def test_doctor_says_what_was_found(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, "doctor", "--json")
    answer = json.loads(out)
    assert {"package", "host", "cuda"} <= set(answer)
    assert code == (0 if answer["host"]["found"] or answer["cuda"]["found"] else 1)
    assert "host:" in run(capsys, "doctor")[1]


@pytest.mark.parametrize("op", ["fp8_gemm_nt", "fp8_gemm_tn", "bf16_gemm_tt"])
def test_supports_says_yes(capsys: pytest.CaptureFixture[str], op: str) -> None:
    assert run(capsys, "supports", op, "--m", "3", "--n", "130", "--k", "200") == (0, "yes\n")


def test_supports_says_no_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, "supports", "mega_mhc", "--json")
    assert code == 1 and json.loads(out)["reason"]


def test_cache_round_trip(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(capsys, "precompile", "bf16_gemm_nt", "--n", "96", "--k", "64")[0] == 0
    assert "bf16_gemm" in run(capsys, "cache", "ls")[1]
    assert run(capsys, "cache", "verify")[0] == 0
    pack = str(tmp_path / "all kernels.pack")
    code, out = run(capsys, "cache", "pack", pack, "--json")
    assert code == 0 and json.loads(out)["packed"] >= 1
    code, out = run(capsys, "cache", "unpack", pack, "--json")
    assert code == 0 and "unpacked" in json.loads(out)


def test_wrong_usage_exits_with_two() -> None:
    with pytest.raises(SystemExit) as caught:
        main(["cache"])
    assert caught.value.code == 2
