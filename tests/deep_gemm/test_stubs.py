"""The generated stub: up to date, valid Python, and every keyword in it works."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch

import deep_gemm
from deep_gemm import _C, _ops
from tools import generate_pyi

PACKAGE = Path(deep_gemm.__file__).resolve().parent
SCHEMAS: list[str] = _ops.query("schemas")
STUB = generate_pyi.generate(PACKAGE, sorted(_C.__all__), SCHEMAS)
TREE = ast.parse(STUB)


def _functions(body: list[ast.stmt]) -> list[ast.FunctionDef]:
    return [node for node in body if isinstance(node, ast.FunctionDef)]


FACADE = _functions(TREE.body)
OPERATORS = next(n for n in TREE.body if isinstance(n, ast.ClassDef) and n.name == "Operators")


def _keywords(node: ast.FunctionDef) -> list[str]:
    names = [argument.arg for argument in node.args.args + node.args.kwonlyargs]
    return [name for name in names if name != "self"]


def test_the_committed_stub_is_the_generated_one() -> None:
    assert (PACKAGE / "_C.pyi").read_text() == STUB, "run python -m tools.generate_pyi"


def test_every_public_name_and_every_schema_is_in_the_stub() -> None:
    classes = {node.name for node in TREE.body if isinstance(node, ast.ClassDef)}
    assert {node.name for node in FACADE} | classes - {"Operators"} == set(_C.__all__)
    assert {node.name for node in _functions(OPERATORS.body)} == {
        schema.partition("(")[0] for schema in SCHEMAS
    }


class _NotAnArgument:
    """No function accepts it, so a call ends at its first check, not at an unknown keyword."""


def _is_binding_error(error: BaseException) -> bool:
    text = str(error)
    return "unexpected keyword" in text or "nknown keyword" in text


@pytest.mark.parametrize("node", FACADE, ids=lambda node: node.name)
def test_every_keyword_of_a_facade_function_is_accepted(node: ast.FunctionDef) -> None:
    function = getattr(_C, node.name)
    before = dict(vars(deep_gemm.knobs._knobs))
    for keyword in _keywords(node):
        try:
            function(**{keyword: _NotAnArgument()})
        except Exception as error:
            assert not _is_binding_error(error), f"{node.name}({keyword}=...): {error}"
        finally:
            deep_gemm.knobs._set(**before)  # a setter of a flag takes anything


@pytest.mark.parametrize("node", _functions(OPERATORS.body), ids=lambda node: node.name)
def test_an_operator_takes_all_its_keywords_at_once(node: ast.FunctionDef) -> None:
    values = {
        "torch.Tensor": torch.zeros(2, 2),
        "torch.Tensor | None": None,
        "int": 1,
        "bool": False,
        "float": 1.0,
        "float | None": None,
        "int | None": None,
        "str": "",
        "torch.dtype": torch.float32,
        "Sequence[int]": [],
        "Sequence[torch.Tensor]": [],
    }
    arguments = node.args.args[1:] + node.args.kwonlyargs
    given = {a.arg: values[ast.unparse(a.annotation)] for a in arguments if a.annotation}
    try:
        getattr(getattr(torch.ops, _ops.NAMESPACE), node.name)(**given)
    except Exception as error:
        assert not _is_binding_error(error), f"{node.name}: {error}"


def test_a_keyword_that_does_not_exist_is_noticed() -> None:
    with pytest.raises(TypeError, match="unexpected keyword"):
        _C.get_num_sms(no_such_keyword=1)
    x = torch.zeros(2, 2)
    with pytest.raises(RuntimeError, match="nknown keyword"):
        getattr(torch.ops, _ops.NAMESPACE).bf16_gemm_nt(x, x, x, no_such_keyword=1)
