"""The Hopper FP8 GEMM compiles for every tile that a table may name, and its products overlap."""

import pytest

from tests.support.nvrtc import Nvrtc, nvrtc_or_skip

DENSE = ["", ".cluster = 2, .share = Share::A", ".cluster = 2, .share = Share::B"]
GROUPS = ["ContiguousIndex", "ContiguousEnds", "Masked"]
WIDE = ".block_m = 128, .block_n = 128, .stages = 5, .products = 2"
WIDER = ".block_m = 128, .block_n = 192, .stages = 4, .n_parts = 2, .products = 2, .store_slots = 3"
UNEVEN = ".block_m = 128, .block_n = {}, .stages = 4, .n_parts = 2, .products = 2, .store_slots = 3"
LOW = ".block_m = 64, .block_n = 128, .stages = 7, .math_warpgroups = 1, .products = 2"
NARROW = ".block_m = 64, .block_n = 64, .stages = 10, .math_warpgroups = 1, .products = 2"
SLIVER = (
    ".block_m = 64, .block_n = 32, .stages = 16, .math_warpgroups = 1, .products = 2, "
    ".store_slots = 1"
)
TILES = [f"{tile}, {more}".rstrip(", ") for tile in (WIDE, WIDER) for more in DENSE]
TILES += [LOW, NARROW, SLIVER, f"{SLIVER}, .d_type = OutputType::F32"]
TILES += [f"{tile}, .groups = Groups::{g}" for tile in (WIDE, WIDER, LOW) for g in GROUPS]
TILES += [f"{UNEVEN.format(176)}, {DENSE[2]}"]
TILES += [f"{UNEVEN.format(160)}, .groups = Groups::{g}" for g in GROUPS]
# A scale a row of b, and float32 sums.
ROWS, SUMS = ".b_scale_rows = 1", ".d_type = OutputType::F32, .add_to = AddTo::D"
TILES += [f"{tile}, {ROWS}, {SUMS}" for tile in (WIDE, f"{WIDE}, {DENSE[2]}", LOW)]
TILES += [f"{WIDE}, {ROWS}", f"{WIDE}, {SUMS}", f"{NARROW}, {SUMS}"]

SMEM_BYTES = 232448  # what a block may have on compute capability 9.0


def text(tile: str) -> str:
    return f"""#include <deep_gemm/sm90/fp8_gemm.cuh>
using namespace deep_gemm;
constexpr TileConfig kTile{{{tile}}};
static_assert(sizeof(sm90::Fp8Smem<kTile>) <= {SMEM_BYTES});
extern "C" __global__ void __launch_bounds__(sm90::Fp8Derived<kTile>::kThreads, 1)
    kernel(const __grid_constant__ GemmParams params) {{
  extern __shared__ __align__(1024) u8 shared[];
  sm90::fp8_gemm<kTile>(params, shared);
}}
"""


@pytest.fixture(scope="module")
def nvrtc() -> Nvrtc:
    return nvrtc_or_skip()


@pytest.mark.parametrize("tile", TILES)
def test_a_tile_compiles_without_spills_and_without_serialized_wgmma(
    nvrtc: Nvrtc, tile: str
) -> None:
    report = nvrtc.compile(text(tile), "90a")
    assert report.spill_bytes == 0 and report.stack_bytes == 0, report.log
    # ptxas says so when it waits for each wgmma where it is issued: half the speed, same results.
    assert "serialized" not in report.log, report.log


@pytest.mark.parametrize(
    ("tile", "rule"),
    [
        (".block_m = 256, .block_n = 128, .products = 2", "M_ATOM"),
        (".block_m = 128, .block_n = 128, .products = 1", "PRODUCTS"),
        (".block_m = 128, .block_n = 256, .n_parts = 2, .products = 2", "REGISTERS"),
        (".block_m = 128, .block_n = 16, .products = 2", "N_ATOM"),
        (f"{SLIVER}, {SUMS}", "N_NARROW"),
        (f"{SLIVER}, .groups = Groups::Masked", "N_NARROW"),
        (f"{WIDE}, .store_slots = 1", "STORE_SLOTS"),
        (f"{WIDE}, .add_to = AddTo::D", "ADD_TO_D"),
        (f"{WIDE}, .a_major = Major::Mn", "ELEMENT_TYPE"),
    ],
)
def test_a_tile_that_does_not_fit_is_refused_by_name(nvrtc: Nvrtc, tile: str, rule: str) -> None:
    with pytest.raises(AssertionError, match=rule):
        nvrtc.compile(text(tile), "90a")
