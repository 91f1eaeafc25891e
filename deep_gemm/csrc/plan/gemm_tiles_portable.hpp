// The tiles a portable CUDA GEMM may use. Tables only: gemm_legality filters, gemm_cost_cuda ranks.
// To tune a device, change this file and look at the golden plans that move.
#pragma once

namespace deep_gemm::plan {

struct PortableTileRow {
  int block_m, block_n, warps_m, warps_n;
  int copied_stages;    // where cp.async fills shared memory; 2 where registers do
  int blocks_per_sm;    // by registers, which ptxas gives: 130 to 255 a thread
  bool takes_elements;  // element by element loads too: they need the registers of a small tile
  const char* why;
};

inline constexpr PortableTileRow kPortableTiles[] = {
    {128, 128, 2, 4, 3, 1, false, "64 x 32 a warp: 16 products for 6 fragment loads"},
    {64, 64, 2, 2, 4, 3, true, "too few tiles of 128 x 128 for all SMs"},
    {32, 64, 1, 4, 4, 4, true, "up to 32 rows: half of the other tile's rows would be padding"},
};

inline constexpr int kPortableBlockK = 64;  // portable/operand.cuh
inline constexpr int kPortableBand = 8;     // row tiles walked together

}  // namespace deep_gemm::plan
