"""The command line answers in text and JSON, and its exit codes say yes, no or wrong usage."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deep_gemm import _ops, _packs
from deep_gemm.__main__ import main


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str]:
    code = main(list(argv))
    return code, capsys.readouterr().out


def fresh(folder: Path, *argv: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """One command in a process of its own, on a cache of its own."""
    environment = {
        **os.environ, "DG_JIT_CACHE_DIR": str(folder / "cache"),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **variables,
    }  # fmt: skip
    command = [sys.executable, "-m", "deep_gemm", *argv]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_doctor_says_what_was_found(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, "doctor", "--json")
    answer = json.loads(out)
    assert {"package", "host", "cuda", "cache"} <= set(answer)
    assert code == (0 if answer["host"]["found"] or answer["cuda"]["found"] else 1)
    assert "host " in run(capsys, "doctor")[1]


def test_doctor_gives_each_part_of_cuda_a_verdict_with_a_way_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cuda = json.loads(run(capsys, "doctor", "--json")[1])["cuda"]
    for part in (cuda, cuda["driver"], cuda["nvrtc"], cuda["nvcc"]):
        assert bool(part["reason"]) is bool(part["fix"]) is not part["found"]
    for tool in ("nvrtc", "nvcc"):
        assert cuda[tool]["looked_at"]
        assert bool(cuda[tool]["path"]) is cuda[tool]["found"]


def test_doctor_compiles_nothing_and_names_the_variable_of_a_missing_compiler(
    tmp_path: Path,
) -> None:
    marker = tmp_path / "compiler ran"
    script = tmp_path / "g++"
    script.write_text(f"#!/bin/sh\ntouch '{marker}'\n")
    script.chmod(0o755)
    done = fresh(tmp_path, "doctor", "--json", DG_JIT_HOST_COMPILER=str(script))
    assert json.loads(done.stdout)["host"]["found"] and not marker.exists()
    done = fresh(tmp_path, "doctor", DG_JIT_HOST_COMPILER="/nowhere/g++")
    assert "DG_JIT_HOST_COMPILER" in done.stdout and "/nowhere/g++" in done.stdout


def test_doctor_does_not_believe_in_an_nvrtc_that_the_loader_does_not_find(tmp_path: Path) -> None:
    """A name without a folder is a candidate, and only the loader knows whether it exists."""
    site = tmp_path / "empty"
    site.mkdir()
    done = fresh(tmp_path, "doctor", "--json", CUDA_HOME=str(site))
    for place in json.loads(done.stdout)["cuda"]["nvrtc"]["looked_at"]:
        if "loader path" in place and "usable" in place:
            import ctypes

            ctypes.CDLL(place.split(" ")[0])


@pytest.mark.parametrize("op", ["fp8_gemm_nt", "fp8_gemm_tn", "bf16_gemm_tt"])
def test_supports_says_yes(capsys: pytest.CaptureFixture[str], op: str) -> None:
    assert run(capsys, "supports", op, "--m", "3", "--n", "130", "--k", "200") == (0, "yes\n")


def test_supports_says_no_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, "supports", "mega_mhc", "--json")
    assert code == 1 and json.loads(out)["reason"]


def test_cache_round_trip(tmp_path: Path) -> None:
    assert fresh(tmp_path, "precompile", "bf16_gemm_nt", "--n", "96", "--k", "64").returncode == 0
    listing = fresh(tmp_path, "cache", "ls").stdout
    assert "host_bf16_gemm" in listing and "1 entries" in listing
    assert fresh(tmp_path, "cache", "verify").returncode == 0
    pack = str(tmp_path / "all kernels.pack")
    assert json.loads(fresh(tmp_path, "cache", "pack", pack, "--json").stdout)["packed"] == 1
    elsewhere = tmp_path / "elsewhere"
    unpacked = fresh(elsewhere, "cache", "unpack", pack, "--json")
    assert json.loads(unpacked.stdout)["unpacked"] == 1
    dry = fresh(
        elsewhere, "precompile", "bf16_gemm_nt", "--n", "8", "--k", "64", "--dry-run", "--json"
    )
    assert json.loads(dry.stdout)["kernels"][0]["cached"] is True


def test_a_pack_is_one_line_of_the_listing_unless_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    layer = tmp_path / "kernels_of_a_pack" / "layer"
    row = {"target": "90a", "bytes": 1000, "request": "0" * 64}
    packed = [row | {"name": f"packed_{i}", "dir": str(layer / f"packs/{i}")} for i in range(3)]
    entries = [row | {"name": "mine", "dir": str(tmp_path / "cache/mine")}, *packed]
    monkeypatch.setattr(_ops, "query", lambda what: entries if what == "cache_list" else None)
    monkeypatch.setattr(_packs, "layers", lambda: [layer])
    short = run(capsys, "cache", "ls")[1]
    assert "mine" in short and "packed_" not in short and "4 entries, 4 kB" in short
    assert f"kernels_of_a_pack: 3 entries, 3 kB, in {layer}; --all lists them" in short
    whole = run(capsys, "cache", "ls", "--all")[1]
    assert whole.count("packed_") == 3 and "--all" not in whole and "4 entries" in whole
    assert json.loads(run(capsys, "cache", "ls", "--json")[1]) == entries


def verdict_on_cuda(**found: bool) -> dict[str, Any]:
    parts = {name: {"found": is_found} for name, is_found in found.items()}
    return {"found": False, "reason": "why", "fix": "how", **parts}


@pytest.mark.parametrize(
    ("pack", "compiler", "driver", "serves"),
    [
        ({"found": True, "is_on": True, "usable": 7}, False, True, True),
        ({"found": True, "is_on": True, "usable": 7}, True, True, False),
        ({"found": True, "is_on": True, "usable": 7}, False, False, False),
        ({"found": True, "is_on": True, "usable": 0}, False, True, False),
        ({"found": True, "is_on": False, "usable": 7}, False, True, False),
        ({"found": False}, False, True, False),
    ],
    ids=["serves", "compiler", "no_driver", "none_usable", "off", "not_installed"],
)
def test_doctor_says_that_packs_serve_a_machine_without_a_compiler(
    pack: dict[str, Any], compiler: bool, driver: bool, serves: bool
) -> None:
    before = verdict_on_cuda(nvrtc=compiler, nvcc=False, driver=driver)
    after = _packs.serving(before, [pack])
    if not serves:
        assert after == before | {"note": ""}
        return
    assert after["found"] and after["reason"] == "" == after["fix"]
    assert after["note"].startswith("7 kernels") and "cannot be made" in after["note"]


def test_prune_says_how_much_went_and_verify_finds_damage(tmp_path: Path) -> None:
    fresh(tmp_path, "precompile", "bf16_gemm_nt", "--n", "96", "--k", "64")
    entry = next((tmp_path / "cache/cache").iterdir())
    size = sum(file.stat().st_size for file in entry.iterdir())
    library = next(entry.glob("*.so"))
    library.write_bytes(library.read_bytes()[:-1])
    damaged = fresh(tmp_path, "cache", "verify", "--json")
    assert damaged.returncode == 1 and len(json.loads(damaged.stdout)["damaged"]) == 1
    pruned = json.loads(fresh(tmp_path, "cache", "prune", "--max-bytes", "0", "--json").stdout)
    assert pruned == {"removed": 1, "bytes": size - 1, "bytes_left": 0}


def test_models_are_precompiled_and_say_what_they_skip(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out = run(capsys, "precompile", "--model", "qwen3-30b-a3b", "--json")
    answer = json.loads(out)
    assert code == 0 and answer["kernels"] >= 2 and answer["model"] == "qwen3-30b-a3b"
    assert all(answer["skipped"].values())


def test_a_dry_run_of_a_model_compiles_nothing(tmp_path: Path) -> None:
    argv = ("precompile", "--model", "qwen3-30b-a3b")
    dry = json.loads(fresh(tmp_path, *argv, "--dry-run", "--json").stdout)
    assert dry["missing"] == dry["kernels"] > 0 and dry["compiled"] == 0
    done = json.loads(fresh(tmp_path, *argv, "--json").stdout)
    assert done["compiled"] == done["missing"] == dry["kernels"]
    assert fresh(tmp_path, *argv, "--dry-run").stdout.endswith(" 0 to compile\n")


@pytest.mark.parametrize(
    "argv",
    [["cache"], ["cache", "prune"], ["supports"], ["nonsense"], [], ["doctor", "--colour"]],
    ids=["cache", "prune", "supports", "nonsense", "nothing", "flag"],
)
def test_wrong_usage_exits_with_two(argv: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2


def test_precompile_without_sizes_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["precompile", "fp8_gemm_nt", "--n", "64"]) == 2
    assert "--model" in capsys.readouterr().err


def test_precompile_lists_what_an_operator_without_a_matrix_needs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sizes = ["--heads", "64", "--head-dim", "128", "--block-kv", "64", "--next-n", "1", "2"]
    argv = ["precompile", "fp8_paged_mqa_logits", *sizes, "--arch", "90a", "--dry-run"]
    code, out = run(capsys, *argv, "--json")
    names = [kernel["name"] for kernel in json.loads(out)["kernels"]]
    assert code == 0 and names.count("sm90_fp8_paged_mqa_logits") == 2
    assert "sm90_fp8_paged_mqa_logits" in run(capsys, *argv)[1]


def test_precompile_all_lists_every_family(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, "precompile", "--all", "--arch", "90a", "--dry-run", "--json")
    names = {kernel["name"] for kernel in json.loads(out)["kernels"]}
    families = ("_bf16_gemm", "m_grouped_", "k_grouped_", "tf32_hc", "mqa_logits", "metadata")
    assert code == 0 and all(any(part in name for name in names) for part in families)
    for wrong in (["precompile", "--all", "fp8_gemm_nt"], ["precompile"]):
        assert run(capsys, *wrong)[0] == 2


def test_errors_go_to_stderr_with_their_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["precompile", "softmax", "--n", "64", "--k", "64"]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("InvalidArgument: ") and not captured.out
