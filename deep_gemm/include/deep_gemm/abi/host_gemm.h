// What a host GEMM launch hands to its kernel, and the configuration the kernel is compiled for.
//   HostGemmParams params{...};                         // one argument
//   constexpr HostGemmConfig kConfig{.a = ElementType::E4m3, .b = ElementType::E4m3, ...};
// Read by the launching side and by the kernel: no function. Leaves out who fills it (csrc/launch)
// and which configuration a problem gets (csrc/plan).
#pragma once

#include <cstdint>

#include <deep_gemm/abi/gemm_types.h>

namespace deep_gemm {

// Compile-time part. The set of these that the planner emits is finite: sizes and strides are not
// in.
struct HostGemmConfig {
  ElementType a = ElementType::Bf16;
  ElementType b = ElementType::Bf16;
  Major a_major = Major::K;
  Major b_major = Major::K;
  int block_k = 128;  // of K between two uses of the scales
  int rows = 6;       // register tile: rows by vectors
  int vectors = 2;
  int vector_bytes = 32;
};

struct HostOperand {
  const void* data;
  std::int64_t stride;  // of the direction that is not contiguous, bytes
};

struct HostScale {
  const void* data;
  std::int64_t stride_mn, stride_k;  // elements
  std::int64_t gran_mn, gran_k;      // elements of the operand that share a scale
  ScaleType type;
  int reserved;
};

struct HostGemmParams {
  HostOperand a, b;
  HostScale a_scale, b_scale;
  void* d;
  const void* c;                    // null: none; may be d
  std::int64_t d_stride, c_stride;  // rows, elements
  std::int64_t m, n, k;
  std::int64_t block_m, block_n;  // what one block of the grid computes
  std::int64_t workspace_bytes;   // of one thread
  void* workspace;                // 64-byte aligned
  float alpha;
  OutputType d_type;  // of c too
};

static_assert(sizeof(HostOperand) == 16 && sizeof(HostScale) == 48);
static_assert(sizeof(HostGemmParams) == 224 && alignof(HostGemmParams) == 8);
static_assert(__builtin_offsetof(HostGemmParams, d) == 128);
static_assert(__builtin_offsetof(HostGemmParams, alpha) == 216);

}  // namespace deep_gemm
