// What a Hopper launch of tf32_hc_prenorm_gemm hands to its kernel, and what the kernel is compiled
// for.
//   HcParams params{...};  void* args[] = {&params};      // one argument, __grid_constant__
//   constexpr HcConfig kConfig{.n = 24, .math_warpgroups = 2, .a_stages = 8};
// Read by host and device. Leaves out: who fills it (csrc/launch) and which configuration a problem
// gets (csrc/plan).
#pragma once

#include <deep_gemm/abi/gemm_params.h>

namespace deep_gemm {

struct HcConfig {
  int n = 24;               // rows of B, a multiple of 8, at most 32
  int math_warpgroups = 2;  // a tile has 64 rows of A a math warpgroup
  int a_stages = 8;         // ring slots of A: tile rows x 64 columns
  int b_slots = 8;          // split blocks of B kept in shared memory: n x 64 columns, two terms
  int converters = 7;       // warps that split B, 3 or 7
  int raw_depth = 1;        // fp32 blocks of B in flight a converting warp
  int cluster = 1;          // blocks that divide the K range of one split and add up in fixed order
  // Every thread splits its part of B before the block meets, instead of converters while it works:
  // b_slots hold the whole share, and k is a multiple of 64.
  bool b_at_once = false;
};

// Grid: {cluster * splits, lanes}. A cluster takes the split blockIdx.x / cluster and the row tiles
// blockIdx.y, blockIdx.y + lanes, ...
struct HcParams {
  TensorMap a;          // bf16 [m, k], box {64, 64 * math_warpgroups}, 128-byte swizzle
  TensorMap b;          // fp32 [n, k], box {64, n}, no swizzle
  float* d;             // [splits, m, n], contiguous
  float* sqr_sum;       // [splits, m], contiguous
  const float* b_data;  // of map b, for b_at_once
  long long b_stride;   // rows, elements
  int m;                // rows, at least 1
  int split_blocks;     // of 64 of k, in every split
  int split_extra;      // the first that many splits take one block more
  int tiles;            // row tiles
  int lanes;            // clusters a split, at most tiles
  int reserved;
};

static_assert(sizeof(HcParams) == 320 && alignof(HcParams) == 64);
#ifndef __CUDACC_RTC__  // NVRTC has no offsetof; the sizes above still hold there
static_assert(__builtin_offsetof(HcParams, d) == 256 && __builtin_offsetof(HcParams, m) == 288);
#endif

}  // namespace deep_gemm
