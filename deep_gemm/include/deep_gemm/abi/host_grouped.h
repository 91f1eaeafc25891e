// What a host launch of a grouped GEMM hands to its kernel: the dense parameters, and parts of the
// groups that each come with what differs.
//   HostGroupedParams params{.gemm = ..., .parts = parts.data()};      // one argument
// Read by the launching side and by the kernel: no function. Leaves out how layouts become parts
// (csrc/launch).
#pragma once

#include <deep_gemm/abi/host_gemm.h>

namespace deep_gemm {

// Up to block_m rows of one group. With k = 0 they become c, or zero.
struct HostGemmPart {
  HostOperand a, b;     // of the group
  const void* a_scale;  // of the group; null: not scaled
  const void* b_scale;
  void* d;                 // of the group
  const void* c;           // of the group; null: none
  std::int64_t row, rows;  // of a and d, counted inside the group
  std::int64_t k;
};

struct HostGroupedParams {
  HostGemmParams gemm;  // what all parts share: strides, n, block sizes, workspace, alpha
  const HostGemmPart* parts;
};

static_assert(sizeof(HostGemmPart) == 88 && alignof(HostGemmPart) == 8);
static_assert(sizeof(HostGroupedParams) == 232 && alignof(HostGroupedParams) == 8);

}  // namespace deep_gemm
