// What a launch of tf32_hc_prenorm_gemm hands to the kernels that read plain memory (host/hc.hpp,
// portable/hc.cuh), and what the latter is compiled for.
//   HcFlatParams params{...};                       // one argument
//   constexpr HcFlatConfig kConfig{.columns = 24, .row_tiles = 2, .warps_m = 16};
// Read by host and device. Leaves out: who fills it (csrc/launch) and which configuration a problem
// gets (csrc/plan). The Hopper kernel's own parameters are in hc_params.h.
#pragma once

namespace deep_gemm {

struct HcFlatConfig {
  int columns = 24;      // rows of B that a block covers: a multiple of 8, at most 32
  int row_tiles = 2;     // of 16 rows, a warp
  int warps_m = 16;      // warps that stand below each other
  int warps_k = 1;       // warps that divide the K range of the same rows
  int depth = 3;         // 32-wide pieces of A in flight, a warp
  int chunk_k = 512;     // of K whose B terms are in shared memory; 0: each warp splits its own B
  bool is_whole = true;  // k is a multiple of 32, rows of a and b start at multiples of 16 bytes
};

struct HcFlatParams {
  const void* a;                 // bf16 [m, k]
  const float* b;                // [n, k]
  float* d;                      // [splits, m, n], contiguous
  float* sqr_sum;                // [splits, m], contiguous
  long long a_stride, b_stride;  // rows, elements
  int m, n, k;                   // at least 1
  int splits;                    // of 64-wide blocks of k; the first blocks % splits have one more
  int block_m;                   // host: rows of a block of the grid
  int reserved;
  void* workspace;  // host: workspace_bytes of each thread, 64-byte aligned
  long long workspace_bytes;
};

static_assert(sizeof(HcFlatParams) == 88);

}  // namespace deep_gemm
