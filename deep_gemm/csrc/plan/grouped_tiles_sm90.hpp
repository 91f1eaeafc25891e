// The tiles of the Hopper GEMMs for groups along m. Tables only: grouped_plan_cuda filters and
// ranks. To tune, change this file and look at the golden plans that move. Measurements:
// bench/NOTES.md.
#pragma once

#include <deep_gemm/csrc/plan/gemm_tiles_sm90.hpp>

namespace deep_gemm::plan {

inline constexpr Sm90TileRow kSm90GroupedTiles[] = {
    {{.block_m = 128, .block_n = 128, .stages = 5, .products = 2},
     690,
     "the narrower tile: less is idle where columns are few"},
    {{.block_m = 128, .block_n = 192, .stages = 4, .n_parts = 2, .products = 2, .store_slots = 3},
     1030,
     "53.5 us at 3712 x 4096 x 2048 in 4 groups, 160 columns 55.8"},
    {{.block_m = 64, .block_n = 128, .stages = 7, .math_warpgroups = 1, .products = 2},
     430,
     "groups of up to 64 rows: half of a taller tile would be padding"},
};

// Step cycles: as for dense problems.
inline constexpr Sm90TileRow kSm90Bf16GroupedTiles[] = {
    {{.block_m = 128, .block_n = 256, .stages = 4},
     1070,
     "the wider tile: 48 bytes a cycle and SM from L2 where 128 columns take 64"},
    {{.block_m = 128, .block_n = 192, .stages = 4},
     810,
     "groups whose tiles of 256 columns make a short last wave"},
    {{.block_m = 128, .block_n = 128, .stages = 6},
     560,
     "the narrower tile: less is idle where columns are few"},
    {{.block_m = 64, .block_n = 128, .stages = 8, .math_warpgroups = 1},
     340,
     "groups of up to 64 rows: half of a taller tile would be padding"},
};

}  // namespace deep_gemm::plan
