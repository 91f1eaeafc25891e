"""The Hopper BF16 GEMM compiles for every tile, storage order and output that a plan may name."""

import pytest

from tests.support.nvrtc import Nvrtc, nvrtc_or_skip

SMEM_BYTES = 232448  # what a block may have on compute capability 9.0

WIDE = ".block_m = 128, .block_n = 256, .stages = 4"
MIDDLE = ".block_m = 128, .block_n = 192, .stages = 4"
ODD = ".block_m = 128, .block_n = 176, .stages = 5"
SQUARE = ".block_m = 128, .block_n = 128, .stages = 6"
LOW = ".block_m = 64, .block_n = 128, .stages = 8, .math_warpgroups = 1"
NARROW = ".block_m = 64, .block_n = 64, .stages = 12, .math_warpgroups = 1"
SLIVER = ".block_m = 64, .block_n = 32, .stages = 18, .math_warpgroups = 1, .store_slots = 1"
PAIR = ".cluster = 2, .share = Share::B"
GROUPS = ["ContiguousIndex", "ContiguousEnds", "Masked"]
OUTPUTS = [
    "", ".add_to = AddTo::C", ".d_type = OutputType::F32",
    ".d_type = OutputType::F32, .add_to = AddTo::D",
    ".d_type = OutputType::F32, .add_to = AddTo::C",
]  # fmt: skip
MAJORS = ["", "a", "b", "ab"]


def text(*parts: str, majors: str = "") -> str:
    # Designators stand in the order of the fields.
    order = [f".{letter}_major = Major::Mn" for letter in majors]
    out = [part for part in parts if "d_type" in part or "add_to" in part]
    first = [part for part in parts if part and part not in out]
    tile = ", ".join([*first, ".type = ElementType::Bf16", *order, *filter(None, out)])
    return f"""#include <deep_gemm/sm90/bf16_gemm.cuh>
using namespace deep_gemm;
constexpr TileConfig kTile{{{tile}}};
using Derived = sm90::Bf16Derived<kTile>;
static_assert(sizeof(sm90::Bf16Smem<kTile>) <= {SMEM_BYTES});
extern "C" __global__ void __launch_bounds__(Derived::kThreads, 1)
    kernel(const __grid_constant__ GemmParams params) {{
  extern __shared__ __align__(1024) u8 shared[];
  sm90::bf16_gemm<kTile>(params, shared);
}}
"""


@pytest.fixture(scope="module")
def nvrtc() -> Nvrtc:
    return nvrtc_or_skip()


def check(nvrtc: Nvrtc, source: str) -> None:
    report = nvrtc.compile(source, "90a")
    assert report.spill_bytes == 0 and report.stack_bytes == 0, report.log
    assert "serialized" not in report.log, report.log
    # What the roles ask for is what the launch gives: a block waits for more for ever.
    threads = 256 if ".math_warpgroups = 1" in source else 384
    asked = 128 * (96 + 240) if threads == 256 else 128 * (40 + 2 * 232)
    assert report.registers * threads >= asked, report.log


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("tile", [f"{WIDE}, {PAIR}", MIDDLE, LOW])
def test_every_output_compiles_without_spills_or_serialized_wgmma(
    nvrtc: Nvrtc, tile: str, output: str
) -> None:
    check(nvrtc, text(tile, output))


@pytest.mark.parametrize("majors", MAJORS[1:])
@pytest.mark.parametrize("tile", [f"{WIDE}, {PAIR}", WIDE, MIDDLE, SQUARE, NARROW])
def test_every_storage_order_compiles(nvrtc: Nvrtc, tile: str, majors: str) -> None:
    check(nvrtc, text(tile, majors=majors))


@pytest.mark.parametrize("output", ["", ".add_to = AddTo::C"])
@pytest.mark.parametrize("majors", ["", "a"])
def test_columns_that_are_no_multiple_of_32_compile(nvrtc: Nvrtc, majors: str, output: str) -> None:
    check(nvrtc, text(f"{ODD}, {PAIR}", output, majors=majors))


@pytest.mark.parametrize("majors", ["", "a"])
@pytest.mark.parametrize(
    "output", ["", ".add_to = AddTo::C", ".d_type = OutputType::F32, .add_to = AddTo::C"]
)
def test_tiles_narrower_than_a_store_box_compile(nvrtc: Nvrtc, output: str, majors: str) -> None:
    check(nvrtc, text(SLIVER, output, majors=majors))


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("tile", [WIDE, MIDDLE, SQUARE, LOW])
@pytest.mark.parametrize("output", ["", ".d_type = OutputType::F32"])
def test_every_grouping_compiles(nvrtc: Nvrtc, tile: str, groups: str, output: str) -> None:
    majors = "b" if output else ""
    check(nvrtc, text(tile, f".groups = Groups::{groups}", output, majors=majors))


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("tile", [WIDE, MIDDLE, SQUARE, LOW])
def test_groups_along_k_compile(nvrtc: Nvrtc, tile: str, output: str) -> None:
    check(nvrtc, text(tile, ".groups = Groups::KGrouped", output, majors="ab"))


@pytest.mark.parametrize(
    ("tile", "rule"),
    [
        (".block_m = 256, .block_n = 128", "M_ATOM"),
        (".block_m = 128, .block_n = 72", "N_ATOM"),
        (".block_m = 128, .block_n = 48, .groups = Groups::Masked", "N_NARROW"),
        (".block_m = 128, .block_n = 128, .products = 2", "PRODUCTS"),
        (".block_m = 128, .block_n = 64, .groups = Groups::KGrouped", "K_GROUPS"),
        (".block_m = 128, .block_n = 72, .cluster = 2, .share = Share::B", "SHARE"),
        (
            ".block_m = 128, .block_n = 128, .cluster = 2, .share = Share::A, "
            ".groups = Groups::Masked",
            "CLUSTER",
        ),
    ],
)
def test_a_tile_that_does_not_fit_is_refused_by_name(nvrtc: Nvrtc, tile: str, rule: str) -> None:
    with pytest.raises(AssertionError, match=rule):
        nvrtc.compile(text(tile), "90a")


def test_columns_that_a_store_or_a_box_does_not_divide_are_refused_by_name(nvrtc: Nvrtc) -> None:
    with pytest.raises(AssertionError, match="N_STORE"):
        nvrtc.compile(text(".block_m = 128, .block_n = 80", ".d_type = OutputType::F32"), "90a")
    with pytest.raises(AssertionError, match="N_NARROW"):
        sums = ".d_type = OutputType::F32, .add_to = AddTo::D"
        nvrtc.compile(text(".block_m = 128, .block_n = 48", sums), "90a")
    with pytest.raises(AssertionError, match="N_CHUNK"):
        nvrtc.compile(text(".block_m = 128, .block_n = 176", majors="b"), "90a")
