// The tiles of the Hopper GEMMs. Tables only: gemm_legality filters, gemm_cost_cuda ranks.
// To tune, change this file and look at the golden plans that move. Measurements: bench/NOTES.md.
#pragma once

#include <deep_gemm/abi/gemm_params.h>

namespace deep_gemm::plan {

// What a row leaves open follows from the problem: types, orders, scales, what d is added to.
struct Sm90TileRow {
  TileConfig tile;
  int step_cycles;  // of a tile for one ring slot, 128 bytes of K, all SMs at work
  const char* why;
};

// A pair of blocks with two products beside a sum too wide for two of its own width.
constexpr TileConfig fp8_pair_in_parts(int block_n) {
  return {.block_m = 128,
          .block_n = block_n,
          .stages = 4,
          .n_parts = 2,
          .products = 2,
          .store_slots = 3,
          .cluster = 2,
          .share = Share::B};
}

inline constexpr Sm90TileRow kSm90Fp8Tiles[] = {
    {{.block_m = 128, .block_n = 128, .stages = 5, .products = 2, .cluster = 2, .share = Share::B},
     670,
     "95.7 us at 4096 x 7168 x 2048, the best of version 7; a pair brings each tile of b once"},
    {{.block_m = 128, .block_n = 128, .stages = 5, .products = 2},
     690,
     "97.0 us there; an odd number of row tiles: no block of a pair stays idle"},
    {fp8_pair_in_parts(192), 1030,
     "2112 columns are 11 of these: 2.67 waves of 4096 rows, where 128 columns take 4.12"},
    {fp8_pair_in_parts(176), 985, "95.3 us at 4096 x 2112 x 7168, 192 columns 99.8: 2.91 waves"},
    {{.block_m = 64, .block_n = 128, .stages = 7, .math_warpgroups = 1, .products = 2},
     430,
     "up to 64 rows: half of a taller tile would be padding"},
    {{.block_m = 64, .block_n = 64, .stages = 10, .math_warpgroups = 1, .products = 2},
     230,
     "few columns: twice as many SMs stream b; 15.3 us at 1 x 24576 x 1536, 128 columns 16.0"},
    {{.block_m = 64,
      .block_n = 32,
      .stages = 16,
      .math_warpgroups = 1,
      .products = 2,
      .store_slots = 1},
     150,
     "fewer columns yet, stored row by row"},
};

// Step cycles: estimates, from the rows above and 150 more FP32 instructions a warp and step.
inline constexpr Sm90TileRow kSm90Fp8RowsTiles[] = {
    {{.block_m = 128, .block_n = 128, .stages = 5, .products = 2, .cluster = 2, .share = Share::B},
     760,
     "two products hide the longer scaling; a pair brings each tile of b once"},
    {{.block_m = 128, .block_n = 128, .stages = 5, .products = 2},
     780,
     "an odd number of row tiles: no block of a pair stays idle"},
    {{.block_m = 64, .block_n = 128, .stages = 7, .math_warpgroups = 1, .products = 2},
     490,
     "up to 64 rows: half of a taller tile would be padding"},
};

// Step cycles: from times at 1.6 GHz where a row gives one, else by columns.
inline constexpr Sm90TileRow kSm90Bf16Tiles[] = {
    {{.block_m = 128, .block_n = 256, .stages = 4, .cluster = 2, .share = Share::B},
     1040,
     "154.9 us at 4096 x 7168 x 2048; a pair brings each tile of b once"},
    {{.block_m = 128, .block_n = 256, .stages = 4},
     1070,
     "an odd number of row tiles: no block of a pair stays idle"},
    {{.block_m = 128, .block_n = 192, .stages = 4, .cluster = 2, .share = Share::A},
     800,
     "columns that 256 cut into too many waves, in every storage order"},
    {{.block_m = 128, .block_n = 176, .stages = 5, .cluster = 2, .share = Share::B},
     730,
     "4096 x 2112 x 7168: 12 tiles of columns, 2.91 waves of 3"},
    {{.block_m = 128, .block_n = 128, .stages = 6},
     540,
     "194.3 us at 4096 x 2112 x 7168; too few wider tiles for all SMs"},
    {{.block_m = 64, .block_n = 128, .stages = 8, .math_warpgroups = 1},
     340,
     "up to 64 rows: half of a taller tile would be padding"},
    {{.block_m = 64, .block_n = 64, .stages = 12, .math_warpgroups = 1},
     300,
     "18.0 us at 1 x 2112 x 7168; few columns: twice as many SMs stream b"},
    {{.block_m = 64, .block_n = 32, .stages = 18, .math_warpgroups = 1, .store_slots = 1},
     130,
     "16.2 us at 1 x 2112 x 7168: 66 SMs stream b, where 64 columns keep 33 busy (18.0)"},
};

inline constexpr int kSm90BandRows = 1024;  // rows of a walked together, for L2

}  // namespace deep_gemm::plan
