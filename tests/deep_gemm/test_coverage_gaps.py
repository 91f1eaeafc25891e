"""Wrong calls, knobs, support queries, counters, threads: what the operator suites leave out.

Longer than usual: one table of wrong calls serves the calls and the support queries.
"""

import re
import threading

import pytest
import torch

import deep_gemm
from deep_gemm import errors

Pair = tuple[torch.Tensor, torch.Tensor]


def scaled(m: int = 4, n: int = 6, k: int = 256) -> tuple[Pair, Pair, torch.Tensor]:
    a = deep_gemm.per_token_cast_to_fp8(torch.ones(m, k), use_ue8m0=False)
    b = deep_gemm.per_block_cast_to_fp8(torch.ones(n, k), use_ue8m0=False)
    return a, b, torch.zeros(m, n, dtype=torch.bfloat16)


def plain(m: int = 4, n: int = 6, k: int = 64) -> tuple[torch.Tensor, ...]:
    return torch.ones(m, k).bfloat16(), torch.ones(n, k).bfloat16(), torch.zeros(m, n)


def assert_five_parts(error: BaseException, op: str, argument: str) -> None:
    """op: argument: given ...; Rule NAME: ...; Fix: ..."""
    text = str(error)
    assert re.match(rf"deep_gemm\.{op}: {argument}: given \S", text), text
    assert re.search(r"\n  Rule [A-Z0-9_]+: \S", text), text
    assert re.search(r"\n  Fix: \S", text), text
    assert "[" not in text.split(":")[0], "the kind tag is taken off"


def wrong_scaled_calls() -> dict[str, tuple[str, dict]]:
    a, b, d = scaled()
    return {
        "a-dtype": ("a", {"a": (a[0].float(), a[1])}),
        "b-dtype": ("b", {"b": (b[0].to(torch.float8_e5m2), b[1])}),
        "a-rank": ("a", {"a": (a[0].unsqueeze(0), a[1])}),
        "k-mismatch": ("b", {"b": (b[0][:, :128], b[1][:, :1])}),
        "a-scale-columns": ("a_scale", {"a": (a[0], a[1][:, :1])}),
        "a-scale-rows": ("a_scale", {"a": (a[0], a[1][:3])}),
        "b-scale-rows": ("b_scale", {"b": (b[0], b[1].repeat(2, 1))}),
        "a-scale-dtype": ("a_scale", {"a": (a[0], a[1].double())}),
        "d-dtype": ("d", {"d": d.half()}),
        "d-shape": ("d", {"d": torch.zeros(4, 7).bfloat16()}),
        "d-columns-apart": ("d", {"d": torch.zeros(6, 4).bfloat16().t()}),
        "c-dtype": ("c", {"c": d.float()}),
        "c-shape": ("c", {"c": torch.zeros(4, 5).bfloat16()}),
        "recipe-zero": ("recipe|a_scale|gran_k", {"recipe": (1, 128, 0)}),
    }


@pytest.mark.parametrize("name", wrong_scaled_calls())
def test_wrong_scaled_call_names_op_argument_given_rule_and_fix(name: str) -> None:
    argument, changes = wrong_scaled_calls()[name]
    a, b, d = scaled()
    call = {"a": a, "b": b, "d": d} | changes
    before = call["d"].clone()
    with pytest.raises((errors.InvalidArgument, errors.Unsupported)) as caught:
        deep_gemm.fp8_gemm_nt(**call)
    assert_five_parts(caught.value, "fp8_gemm_nt", f"(?:{argument})")
    assert torch.equal(call["d"], before), "a refused call writes nothing"


def wrong_plain_calls() -> dict[str, tuple[str, dict]]:
    a, b, d = plain()
    return {
        "a-dtype": ("a", {"a": a.half()}),
        "b-dtype": ("b", {"b": b.float()}),
        "a-rank": ("a", {"a": a[0]}),
        "k-mismatch": ("b", {"b": b[:, :32]}),
        "d-dtype": ("d", {"d": d.double()}),
        "d-shape": ("d", {"d": torch.zeros(5, 6)}),
        "d-columns-apart": ("d", {"d": torch.zeros(6, 4).t()}),
        "c-dtype": ("c", {"c": d.bfloat16()}),
        "c-shape": ("c", {"c": torch.zeros(1, 6)}),
        "a-columns-apart": ("a", {"a": torch.ones(8, 128).bfloat16()[::2, ::2]}),
    }


@pytest.mark.parametrize("name", wrong_plain_calls())
def test_wrong_plain_call_names_op_argument_given_rule_and_fix(name: str) -> None:
    argument, changes = wrong_plain_calls()[name]
    a, b, d = plain()
    call = {"a": a, "b": b, "d": d} | changes
    with pytest.raises((errors.InvalidArgument, errors.Unsupported)) as caught:
        deep_gemm.bf16_gemm_nt(**call)
    assert_five_parts(caught.value, "bf16_gemm_nt", argument)


def test_shapes_are_checked_even_when_nothing_would_be_written() -> None:
    a, b, _ = plain(m=0)
    with pytest.raises(errors.InvalidArgument):
        deep_gemm.bf16_gemm_nt(a, b[:, :32], torch.zeros(0, 6))


def test_c_that_shares_the_address_of_d_must_be_d() -> None:
    a, b, _ = plain(m=4, n=4)
    d = torch.zeros(4, 8)
    with pytest.raises(errors.InvalidArgument) as caught:
        deep_gemm.bf16_gemm_nt(a, b, d[:, :4], d.view(8, 4)[:4])
    assert_five_parts(caught.value, "bf16_gemm_nt", "c")


@pytest.mark.parametrize(
    "given",
    [torch.ones(4, 256), (torch.ones(4, 256),), (torch.ones(4, 256), None), 3, None, (1, 2, 3)],
    ids=["bare", "single", "no-scale", "number", "none", "triple"],
)
@pytest.mark.parametrize("argument", ["a", "b"])
def test_anything_but_a_pair_is_a_readable_type_error(argument: str, given: object) -> None:
    a, b, d = scaled()
    with pytest.raises(TypeError) as caught:
        deep_gemm.fp8_gemm_nt(**({"a": a, "b": b, "d": d} | {argument: given}))
    assert_five_parts(caught.value, "fp8_gemm_nt", argument)
    assert "(data, scale)" in str(caught.value)


@pytest.mark.parametrize(
    "recipes",
    [
        {"recipe_a": (1, 128)},
        {"recipe_b": (128, 128)},
        {"recipe": (1, 128, 128), "recipe_a": (1, 128), "recipe_b": (128, 128)},
        {"recipe": (1, 128, 128), "recipe_b": (128, 128)},
        {"recipe": (1, 128)},
    ],
    ids=str,
)
def test_recipes_come_alone_or_as_two(recipes: dict) -> None:
    a, b, d = scaled()
    with pytest.raises(errors.InvalidArgument, match="RECIPE_FORM") as caught:
        deep_gemm.fp8_gemm_nt(a, b, d, **recipes)
    assert_five_parts(caught.value, "fp8_gemm_nt", "recipe")


def test_alpha_and_epilogue_exclude_each_other() -> None:
    a, b, d = plain()
    with pytest.raises(errors.InvalidArgument, match="ONE_EPILOGUE"):
        deep_gemm.bf16_gemm_nt(a, b, d, alpha=2.0, epilogue=deep_gemm.epilogue.Alpha(2.0))
    with pytest.raises(errors.InvalidArgument, match="ONE_EPILOGUE"):
        deep_gemm.bf16_gemm_nt(a, b, d, epilogue="relu")


def test_an_fp8_output_is_refused_by_name() -> None:
    a, b, d = scaled()
    with pytest.raises(errors.Unsupported, match="OUTPUT_FP8"):
        deep_gemm.fp8_gemm_nt(a, b, (d, d))


@pytest.mark.parametrize("name", [*errors.__all__[:0], "Unsupported", "Toolchain", "Internal"])
def test_every_kind_is_a_runtime_error(name: str) -> None:
    error = errors.retyped(RuntimeError(f"[{name}] deep_gemm.x: a: given b.\n"))
    assert type(error) is getattr(errors, name) and isinstance(error, RuntimeError)
    assert str(error) == "deep_gemm.x: a: given b."
    other = RuntimeError("something else")
    assert errors.retyped(other) is other


def test_absent_names_raise_attribute_errors_with_a_reason() -> None:
    for name in ("mega_mhc", "gemm_fp8_fp8_bf16_nt", "m_grouped_gemm_fp8_fp8_bf16_nt_masked"):
        assert getattr(deep_gemm, name, None) is None
        with pytest.raises(AttributeError, match=f"{name}.*: ."):
            getattr(deep_gemm, name)
    with pytest.raises(AttributeError, match=r"nonsense'$"):
        _ = deep_gemm.nonsense


def test_every_exported_name_exists_once() -> None:
    assert len(set(deep_gemm.__all__)) == len(deep_gemm.__all__)
    for name in deep_gemm.__all__:
        assert hasattr(deep_gemm, name)
    for name in deep_gemm._C.__all__:
        assert hasattr(deep_gemm._C, name)


def test_supports_answers_like_the_call() -> None:
    a, b, d = scaled()
    assert deep_gemm.supports("fp8_gemm_nt", a, b, d) == (True, "")
    assert deep_gemm.supports("fp8_gemm_nt") == (True, "")
    for name, (_, changes) in wrong_scaled_calls().items():
        ok, why = deep_gemm.supports("fp8_gemm_nt", **({"a": a, "b": b, "d": d} | changes))
        assert not ok and "Fix:" in why, name
    ok, why = deep_gemm.supports("no_such_op")
    assert not ok and "no_such_op" in why


def test_supports_takes_meta_tensors_and_does_not_compile() -> None:
    before = deep_gemm.counters()["compiles"]
    a, b, d = (
        torch.empty(s, dtype=torch.bfloat16, device="meta") for s in ((4, 8), (6, 8), (4, 6))
    )
    assert deep_gemm.supports("bf16_gemm_nt", a, b, d)[0]
    assert not deep_gemm.supports("bf16_gemm_nt", a, b, d.to(torch.float16))[0]
    assert deep_gemm.counters()["compiles"] == before


def test_plan_shows_kernel_and_source() -> None:
    a, b, d = scaled()
    answer = deep_gemm.plan("fp8_gemm_nt", a, b, d)
    assert "fp8_gemm" in answer["kernel"] and answer["kernel"] in answer["source"]
    assert answer["plan"] and "\n" not in answer["plan"].strip()
    assert deep_gemm.plan("fp8_gemm_nt", a, b, d) == answer


def test_counters_and_events_follow_calls() -> None:
    events: list[dict] = []
    deep_gemm.set_event_callback(events.append)
    try:
        precompiled = deep_gemm.precompile("bf16_gemm_nt", 40, 72)
        assert precompiled["kernels"]
        a, b, d = plain(3, 40, 72)
        deep_gemm.bf16_gemm_nt(a, b, d)
        before = deep_gemm.counters()
        deep_gemm.bf16_gemm_nt(a, b, d)
        after = deep_gemm.counters()
    finally:
        deep_gemm.set_event_callback(None)
    assert after["compiles"] == before["compiles"] and after["loads"] == before["loads"]
    assert all({"event", "name", "request", "ms"} <= set(event) for event in events)
    assert set(before) == {
        "compiles", "disk_hits", "memory_hits", "loads", "compile_ms", "load_ms"
    }  # fmt: skip
    assert deep_gemm.reset_counters() == after
    assert all(value == 0 for value in deep_gemm.counters().values())


def test_features_name_operators_and_capabilities() -> None:
    found = deep_gemm.features()
    assert {"fp8_gemm_nt", "bf16_gemm_tt", "torch_compile"} <= set(found)
    assert list(found) == sorted(found) and all(
        hasattr(deep_gemm, x) for x in found if "_gemm_" in x
    )


def test_get_jit_is_one_object() -> None:
    handle = deep_gemm._C.get_jit()
    assert handle is deep_gemm._C.get_jit() and handle.address != 0


def test_knobs_read_back_what_was_set() -> None:
    try:
        deep_gemm.set_tc_util(0)
        assert deep_gemm.get_tc_util() == 100
        deep_gemm.set_tc_util(40)
        assert deep_gemm.get_tc_util() == 40
        deep_gemm.set_pdl(True)
        assert deep_gemm.get_pdl() is True
        deep_gemm.use_deterministic_algorithms(True)
        assert deep_gemm.get_deterministic_algorithms() is True
        deep_gemm.set_batch_invariant()
        assert deep_gemm.get_batch_invariant() is True
        deep_gemm.set_ignore_compile_dims(True)
        assert deep_gemm.get_ignore_compile_dims() is True
        deep_gemm.set_block_size_multiple_of((32, 16))
        deep_gemm.set_num_sms(1)
        assert deep_gemm.get_num_sms() == 1
        a, b, d = plain()
        deep_gemm.bf16_gemm_nt(a, b, d)
        assert bool((d == 64).all())
        for bad in (-1, 101):
            with pytest.raises(errors.InvalidArgument):
                deep_gemm.set_tc_util(bad)
        with pytest.raises(errors.InvalidArgument):
            deep_gemm.set_num_sms(-2)
    finally:
        deep_gemm.set_tc_util(100)
        deep_gemm.set_pdl(False)
        deep_gemm.use_deterministic_algorithms(False)
        deep_gemm.set_batch_invariant(False)
        assert deep_gemm.get_batch_invariant() is False
        deep_gemm.set_ignore_compile_dims(False)
        deep_gemm.set_block_size_multiple_of(1)
        deep_gemm.set_num_sms(0)
    assert deep_gemm.get_num_sms() > 0
    assert deep_gemm.shutdown() is None


def test_checking_nests_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DG_CHECK", raising=False)
    assert not deep_gemm.knobs.is_checking()
    with deep_gemm.checking(), deep_gemm.checking():
        assert deep_gemm.knobs.is_checking()
    assert not deep_gemm.knobs.is_checking()
    monkeypatch.setenv("DG_CHECK", "1")
    assert deep_gemm.knobs.is_checking()


def test_threads_share_the_operators() -> None:
    a, b, d = scaled(33, 65, 384)
    deep_gemm.fp8_gemm_nt(a, b, d)
    wrong: list[int] = []

    def work(index: int) -> None:
        for _ in range(10):
            mine = torch.zeros_like(d)
            deep_gemm.fp8_gemm_nt(a, b, mine)
            if not torch.equal(mine, d):
                wrong.append(index)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
