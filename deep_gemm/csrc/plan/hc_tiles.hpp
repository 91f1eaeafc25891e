// The shapes of kernels that a hyper-connection product may use, and when. Tables only: hc_plan.cpp
// reads them. To tune a device, change this file and look at the golden plans that move.
#pragma once

#include <cstdint>

namespace deep_gemm::plan {

// Portable kernel, rows of a block ascending: the plan takes the last row whose grid still gives
// every multiprocessor a block, so that B is split as rarely as the device allows.
struct HcFlatRow {
  int row_tiles, warps_m, warps_k, depth, chunk_k;
  bool is_whole;
  const char* why;
};

inline constexpr HcFlatRow kHcFlatRows[] = {
    // row_tiles warps_m warps_k depth chunk_k is_whole
    {1, 1, 16, 3, 0, true, "16 rows: one wave of warps covers 512 of k"},
    {2, 1, 16, 2, 0, true, "32 rows: no warp shares its part of B with another"},
    {2, 2, 8, 2, 0, true, "64 rows: splitting B twice costs less than meeting for it"},
    {2, 4, 4, 2, 512, true, "128 rows: B's terms are shared"},
    {2, 8, 2, 2, 512, true, "256 rows"},
    {2, 16, 1, 2, 512, true, "512 rows: no sum crosses warps; a depth of 3 spills with 32 columns"},
    {1, 1, 8, 1, 0, false, "16 rows, k or addresses that are not whole"},
    {2, 4, 1, 1, 256, false, "128 rows, likewise"},
};

// Hopper: how many blocks of a cluster fit the device at once, in clusters of that many.
struct HcClusterRow {
  int cluster, max_blocks;
  const char* why;
};

inline constexpr HcClusterRow kHcClusters[] = {
    {16, 112, "one a GPC, of which seven have 16 multiprocessors"},
    {8, 112, "two a GPC"},
    {4, 112, "measured: 128 blocks in clusters of 4 ran in two waves"},
    {2, 132, "a pair shares a TPC"},
};

// With many splits a share of K is short, and sums cost more than they save.
inline constexpr int kHcManySplits = 8, kHcManySplitsCluster = 4;

// More rows than this, and blocks without a cluster take 128 of them.
inline constexpr int kHcWideRows = 6144;

// Ring slots of A: 64-row and 128-row tiles. 96 KB and 64 KB in flight; more was not faster.
inline constexpr int kHcStages64 = 12, kHcStages128 = 4;
inline constexpr int kHcBSlots = 8;

}  // namespace deep_gemm::plan
