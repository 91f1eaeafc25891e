"""Text for people: columns line up, and what is missing comes with reason and fix."""

from __future__ import annotations

from typing import Any

from deep_gemm._tables import doctor_text, size_text, table


def test_columns_line_up_and_numbers_are_to_the_right() -> None:
    assert table(("name", "bytes"), [("gemm", 7), ("a", 1234)]).splitlines() == [
        "name  bytes",
        "----  -----",
        "gemm      7",
        "a      1234",
    ]
    assert table(("name", "x"), []).splitlines()[0] == "name  x"


def test_sizes_have_units() -> None:
    assert [size_text(x) for x in (0, 999, 1000, 1234567, 2.5e9, 3e12)] == [
        "0", "999", "1 kB", "1.2 MB", "2.5 GB", "3.0 TB",
    ]  # fmt: skip


def answer() -> dict[str, Any]:
    tool = {"found": True, "path": "/x", "version": "13.0", "origin": "pip", "looked_at": ["/x"]}
    return {
        "host": {"found": True, "compiler": "g++", "arch": "v3", "num_threads": 2, "looked_at": []},
        "cuda": {
            "found": False, "reason": "no driver", "fix": "install it", "nvrtc": tool, "nvcc": tool,
            "note": "",
            "driver": {"found": False, "devices": [], "serves": "", "reason": "a", "fix": "b"},
        },
        "cache": {
            "dirs": ["/c"], "entries": 3, "mode": "allow", "reason": "", "fix": "", "packs": [],
        },
        "package": {"version": "1", "torch": "2", "extension": "/e"},
    }  # fmt: skip


def test_doctor_says_of_each_missing_part_why_and_what_to_do() -> None:
    text = doctor_text(answer())
    assert "cuda       no  no driver\n               fix: install it" in text
    assert "  driver   no  a\n               fix: b" in text
    assert "host       ok  g++ for v3, 2 threads" in text
    assert "looked at" not in text
    assert "nvrtc looked at /x" in doctor_text(answer(), verbose=True)


def test_doctor_says_how_cuda_runs_where_only_packs_serve() -> None:
    whole = answer()
    whole["cuda"] |= {"found": True, "reason": "", "fix": "", "note": "4 kernels of packs"}
    assert "cuda       ok  4 kernels of packs\n" in doctor_text(whole)
    whole["cuda"]["note"] = ""
    assert "cuda       ok  operators run on it\n" in doctor_text(whole)


def test_doctor_counts_the_kernels_of_a_pack_or_says_what_is_wrong_with_it() -> None:
    pack = {
        "name": "kernels", "found": True, "version": "1", "compiler": "NVRTC 12.8",
        "usable": 4, "entries": 5, "reason": "stale", "fix": "install 2",
    }  # fmt: skip

    def lines(**changes: object) -> str:
        whole = answer()
        whole["cache"]["packs"] = [{**pack, **changes}]
        return doctor_text(whole)

    assert "pack     no  kernels 1, 4 of 5 kernels usable: stale\n" in lines()
    assert "fix: install 2" in lines()
    good = lines(reason="", fix="", usable=5)
    assert "pack     ok  kernels 1, 5 of 5 kernels usable, by NVRTC 12.8" in good
    assert "pack     no  kernels: not installed" in lines(found=False, reason="not installed")


def test_doctor_shows_a_back_end_that_it_has_no_row_for() -> None:
    more = answer() | {"ascend": {"found": False, "reason": "no NPU", "fix": "get one"}}
    assert "ascend     no  no NPU" in doctor_text(more)
