// The tiles a portable CUDA GEMM may use. Tables only: gemm_legality filters, gemm_cost_cuda ranks.
// To tune a device, change this file and look at the golden plans that move.
#pragma once

namespace deep_gemm::plan {

struct PortableTileRow {
  int block_m, block_n, warps_m, warps_n;
  int copied_stages;         // where cp.async fills shared memory; 2 where registers do
  int blocks_per_sm;         // by registers: 128 a thread with two blocks of 256
  int scaled_blocks_per_sm;  // with scales a thread holds twice the sums
  const char* why;
};

// H200, 4096 x 4096 x 7168, TFLOPS: bf16 326 (128 x 256), 307 (128 x 128), 272 with one block an
// SM; scaled E4M3 190 (128 x 128), 176 (128 x 64), 188 (64 x 128).
inline constexpr PortableTileRow kPortableTiles[] = {
    {128, 256, 2, 4, 3, 1, 0, "64 x 64 a warp: 32 products for 8 fragment loads; bf16 alone"},
    {128, 128, 2, 4, 3, 2, 1, "64 x 32 a warp: what fits beside the sums of scaled products"},
    {64, 64, 2, 2, 4, 3, 3, "too few tiles of 128 x 128 for all SMs"},
    {32, 64, 1, 4, 4, 4, 4, "up to 32 rows: half of the other tile's rows would be padding"},
};

inline constexpr int kPortableBlockK = 64;  // portable/operand.cuh
inline constexpr int kPortableBand = 8;     // row tiles walked together

}  // namespace deep_gemm::plan
