"""Registration: schemas, alias marks, fakes, opcheck, torch.compile, copies in one process."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch._subclasses import FakeTensorMode

import deep_gemm
from deep_gemm import _fake, _ops
from tests.support.cases import GemmCase, bf16_operands

PACKAGE = Path(deep_gemm.__file__).parent
SCALED = [f"{stem}_{x}" for stem in ("fp8_gemm", "fp8_fp4_gemm") for x in ("nt", "nn", "tn", "tt")]
PLAIN = [f"bf16_gemm_{x}" for x in ("nt", "nn", "tn", "tt")]


def operator(name: str) -> torch._ops.OpOverload:
    return getattr(getattr(torch.ops, _ops.NAMESPACE), name).default


def square(name: str) -> tuple[torch.Tensor, ...]:
    """Arguments that fit every storage order: m = n = k = 128."""
    generator = torch.Generator().manual_seed(3)
    a, b = (torch.randn(128, 128, generator=generator).bfloat16() for _ in range(2))
    d = torch.zeros(128, 128, dtype=torch.bfloat16)
    if name in PLAIN:
        return a, b, d
    a, a_scale = deep_gemm.per_block_cast_to_fp8(a, use_ue8m0=False)
    b, b_scale = deep_gemm.per_block_cast_to_fp8(b, use_ue8m0=False)
    rows = a_scale.expand(128, 1).contiguous()
    return a, rows.t().contiguous() if name[-2] == "t" else rows, b, b_scale, d


def run(code: str, *args: str, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *args],
        capture_output=True,
        text=True,
        timeout=300,
        env=env,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_fakes_and_schemas_are_the_same_list() -> None:
    schemas = [s.partition(" -> ")[0] for s in _ops.query("schemas")]
    takes_tensors = [s.partition("(")[0] for s in schemas if "Tensor" in s]
    # Views of its argument: torch derives them.
    assert set(takes_tensors) - {"_slice_symm_buffer_for_mega_moe"} == set(_fake.FAKES)


@pytest.mark.parametrize("name", SCALED + PLAIN)
def test_schema_says_that_d_alone_is_written(name: str) -> None:
    schema = operator(name)._schema
    written = [a.name for a in schema.arguments if a.alias_info and a.alias_info.is_write]
    assert written == ["d"] and schema.returns == []


@pytest.mark.parametrize("name", SCALED + PLAIN)
def test_only_d_changes(name: str) -> None:
    args = square(name)
    before = [x.clone() for x in args]
    versions = [x._version for x in args]
    assert operator(name)(*args) is None
    for x, saved in zip(args[:-1], before[:-1], strict=True):
        assert torch.equal(x.contiguous().view(torch.uint8), saved.view(torch.uint8))
    assert not torch.equal(args[-1], before[-1])
    assert [x._version for x in args[:-1]] == versions[:-1]


@pytest.mark.parametrize("name", SCALED + PLAIN)
def test_opcheck(name: str) -> None:
    # Why: test_schema compares copies of the arguments, which torch cannot do for 8-bit floats;
    # test_only_d_changes takes its place there.
    checks = ["test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"]
    if name in PLAIN:
        checks.append("test_schema")
    torch.library.opcheck(operator(name), square(name), test_utils=checks)


@pytest.mark.parametrize("name", SCALED + PLAIN)
def test_fake_tensors_have_no_data_to_read(name: str) -> None:
    args = square(name)
    with FakeTensorMode() as mode:
        fakes = [mode.from_tensor(x) for x in args]
        assert operator(name)(*fakes) is None


def test_full_graph_over_ten_sizes_recompiles_at_most_once() -> None:
    compiles = []

    def backend(module: torch.fx.GraphModule, inputs: list) -> object:
        compiles.append(module)
        return module.forward

    b, b_scale = deep_gemm.per_block_cast_to_fp8(torch.randn(96, 256), use_ue8m0=False)
    w = torch.randn(48, 96).bfloat16()

    def layer(x: torch.Tensor) -> torch.Tensor:
        a = deep_gemm.per_token_cast_to_fp8(x, use_ue8m0=False)
        hidden = x.new_empty((x.size(0), 96))
        deep_gemm.fp8_gemm_nt(a, (b, b_scale), hidden)
        out = torch.empty((x.size(0), 48), dtype=torch.float32)
        deep_gemm.bf16_gemm_nt(hidden, w, out)
        return out

    torch._dynamo.reset()
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend=backend)
    for m in (7, 2, 3, 17, 64, 65, 128, 200, 31, 512):
        x = torch.randn(m, 256).bfloat16()
        assert torch.equal(compiled(x), layer(x))
    assert len(compiles) <= 2, f"{len(compiles)} graphs for ten sizes"


def test_compiled_call_may_write_into_a_view() -> None:
    a, b = bf16_operands(GemmCase(9, 16, 64))

    def write(out: torch.Tensor) -> None:
        deep_gemm.bf16_gemm_nt(a, b, out[:, 4:20])

    torch._dynamo.reset()
    eager, compiled = torch.zeros(9, 24), torch.zeros(9, 24)
    write(eager)
    torch.compile(write, fullgraph=True, backend="aot_eager")(compiled)
    assert torch.equal(eager, compiled) and bool((eager[:, 4:20] != 0).any())


def test_facade_and_operator_give_the_same_bits() -> None:
    a, a_scale, b, b_scale, d = square("fp8_gemm_nt")
    operator("fp8_gemm_nt")(a, a_scale, b, b_scale, d)
    e = torch.zeros_like(d)
    deep_gemm.fp8_gemm_nt((a, a_scale), (b, b_scale), e)
    assert torch.equal(d, e)
    shared = torch.zeros_like(d)
    torch.ops.deep_gemm.fp8_gemm_nt(a, a_scale, b, b_scale, shared)
    assert torch.equal(d, shared)


def test_bare_extension_loads_and_works_alone(tmp_path: Path) -> None:
    # torch follows links to the file, so it must lie beside the kernel sources for real.
    shutil.copytree(PACKAGE / "include", tmp_path / "include")
    bare = shutil.copy(_ops.EXTENSION, tmp_path)
    run(
        "import sys, torch\n"
        "torch.ops.load_library(sys.argv[1])\n"
        "a = torch.eye(8).bfloat16(); d = torch.zeros(8, 8)\n"
        "torch.ops.deep_gemm.bf16_gemm_nt(a, a, d)\n"
        "assert torch.equal(d, torch.eye(8))\n"
        "assert 'deep_gemm' not in sys.modules\n",
        str(bare),
    )


def copied(tmp_path: Path, name: str) -> Path:
    target = tmp_path / Path(*name.split("."))
    target.parent.mkdir(parents=True)
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__", "csrc"))
    for parent in target.relative_to(tmp_path).parents:
        if str(parent) != ".":
            (tmp_path / parent / "__init__.py").touch()
    return target


COPIES = """
import sys, torch
sys.path[:0] = sys.argv[1:]
import deep_gemm as first
import vendor.third_party.{name} as second
assert first is not second and first._C._ops.EXTENSION != second._C._ops.EXTENSION
a = torch.eye(16).bfloat16()
for package in (first, second, first):
    d = torch.zeros(16, 16)
    package.bf16_gemm_nt(a, a, d)
    assert torch.equal(d, torch.eye(16))
first.set_pdl(True)
assert first.get_pdl() and not second.get_pdl()
print(first._C._ops.NAMESPACE, second._C._ops.NAMESPACE)
"""


@pytest.mark.parametrize("changed", [False, True], ids=["same-file", "other-build"])
@pytest.mark.parametrize("name", ["deep_gemm", "other_name"])
def test_two_copies_live_in_one_process(tmp_path: Path, changed: bool, name: str) -> None:
    target = copied(tmp_path, f"vendor.third_party.{name}")
    if changed:
        # A byte after the end of the ELF image changes the file, not the program.
        with (target / _ops.EXTENSION.name).open("ab") as file:
            file.write(b"\0")
    out = run(COPIES.format(name=name), str(tmp_path), str(PACKAGE.parent))
    one, two = out.split()
    assert one.startswith("deep_gemm_") and (one != two) == changed


def test_vendored_copy_works_under_another_name_alone(tmp_path: Path) -> None:
    copied(tmp_path, "vllm.third_party.deep_gemm")
    run(
        "import sys, torch\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "import vllm.third_party.deep_gemm as deep_gemm\n"
        "from vllm.third_party.deep_gemm import per_block_cast_to_fp8\n"
        "a = torch.eye(8).bfloat16(); d = torch.zeros(8, 8)\n"
        "deep_gemm.bf16_gemm_nt(a, a, d)\n"
        "assert torch.equal(d, torch.eye(8))\n"
        "assert 'deep_gemm' not in sys.modules\n",
        str(tmp_path),
    )


def test_missing_extension_is_an_import_error_that_says_how_to_build(tmp_path: Path) -> None:
    target = copied(tmp_path, "bare.deep_gemm")
    (target / _ops.EXTENSION.name).unlink()
    out = run(
        "import sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "try:\n    import bare.deep_gemm\n"
        "except ImportError as error:\n    print(error)\n",
        str(tmp_path),
    )
    assert "_C_extension.abi3.so" in out and "pip install" in out
