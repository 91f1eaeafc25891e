// The tiles of the Hopper FP8 GEMM. Tables only: gemm_legality filters, gemm_cost_cuda ranks.
// To tune, change this file and look at the golden plans that move. Measurements: bench/NOTES.md.
#pragma once

#include <deep_gemm/abi/gemm_params.h>

namespace deep_gemm::plan {

struct Sm90TileRow {
  TileConfig tile;
  int step_cycles;  // of a tile for 128 of K, all SMs at work
  const char* why;
};

inline constexpr Sm90TileRow kSm90Fp8Tiles[] = {
    {{.block_m = 128, .block_n = 128, .stages = 5, .products = 2, .cluster = 2, .share = Share::B},
     670,
     "95.7 us at 4096 x 7168 x 2048, the best of version 7; a pair brings each tile of b once"},
    {{.block_m = 128, .block_n = 128, .stages = 5, .products = 2},
     690,
     "97.0 us there; an odd number of row tiles: no block of a pair stays idle"},
    {{.block_m = 64, .block_n = 128, .stages = 7, .math_warpgroups = 1, .products = 2},
     430,
     "up to 64 rows: half of a taller tile would be padding"},
    {{.block_m = 64, .block_n = 64, .stages = 10, .math_warpgroups = 1, .products = 2},
     270,
     "few columns: twice as many SMs stream b"},
};

inline constexpr int kSm90BandRows = 1024;  // rows of a walked together, for L2

}  // namespace deep_gemm::plan
