// What a portable CUDA GEMM launch hands to its kernel, and the tile that the kernel is compiled
// for.
//   PortableGemmParams params{...};                     // one argument, __grid_constant__
//   constexpr PortableGemmConfig kConfig{.a = ElementType::E4m3, .b = ElementType::E4m3, ...};
// Read by host and device: no include of a library, no function. Leaves out: who fills it
// (csrc/launch), which tile a problem gets (csrc/plan) and how groups are walked (sched/portable*).
#pragma once

#include <deep_gemm/abi/gemm_params.h>
#include <deep_gemm/abi/gemm_types.h>

namespace deep_gemm {

// Compile-time part. The set of these that the planner emits is finite: sizes and strides are not
// in.
struct PortableGemmConfig {
  ElementType a = ElementType::Bf16;
  ElementType b = ElementType::Bf16;
  Major a_major = Major::K;
  Major b_major = Major::K;
  int a_bytes = 16;  // of one access: 16, or what one element has (1 for two of E2M1)
  int b_bytes = 16;
  int scale_k = 0;  // of K between two uses of the scales: 32, 64, 128; 0: no scales
  int block_m = 128;
  int block_n = 128;
  int warps_m = 2;
  int warps_n = 4;
  int stages = 2;         // tiles of 64 along K in shared memory
  int blocks_per_sm = 1;  // what registers must allow
};

struct PortableOperand {
  const void* data;
  long long stride;  // of the direction that is not contiguous, bytes
  long long group;   // from one group's matrix to the next, bytes
};

struct PortableScale {
  const void* data;
  long long stride_mn, stride_k, group;  // elements (of int32 where packed)
  ScaleType type;
  int mn_shift;  // log2 of the rows that share a scale
  int k_shift;   // log2 of the uses of scales that share one: gran_k / scale_k
  int reserved;
};

struct PortableGemmParams {
  PortableOperand a, b;
  PortableScale a_scale, b_scale;
  void* d;
  const void* c;                 // null: none; may be d
  long long d_stride, c_stride;  // rows, elements
  long long d_group, c_group;    // groups, elements
  const int* layout;             // by Groups; null where dense or batched
  int m, n, k;                   // of one group where each has its own matrix, else of all
  int num_groups;                // 1 when dense
  int band;                      // row tiles that are walked together, for L2
  int alignment;  // of group starts: rows (Ends), or elements of K (KGrouped; 0: layout has sizes)
  float alpha;
  OutputType d_type;  // of c too
  int d_pairs;        // 1: two neighbours of d (and c) are stored at once
  int covers_gaps;    // 1: rows (Ends) or scales (KGrouped) reach up to the next group's start
};

static_assert(sizeof(PortableOperand) == 24 && sizeof(PortableScale) == 48);
static_assert(sizeof(PortableGemmParams) == 240 && alignof(PortableGemmParams) == 8);
#ifndef __CUDACC_RTC__  // NVRTC has no offsetof; the sizes above still hold there
static_assert(__builtin_offsetof(PortableGemmParams, d) == 144 &&
              __builtin_offsetof(PortableGemmParams, m) == 200);
#endif

}  // namespace deep_gemm
