// Grouped GEMM on a CPU: parts of groups, each computed as a block of a dense GEMM.
//                                                                     stem: grouped_gemm
//   d[row] = alpha * a[row] @ b[group]^T (+ c[row]),  or for groups along k one product a group
// Grid: {parts, cdiv(n, block_n)}. Order as in gemm.hpp: an element's bits depend on its own row,
// its group's column and its group's k alone, not on how rows were cut into parts.
//   extern "C" void host_grouped_fp8_gemm(const DjHostBlock* block, void* const* args) {
//     deep_gemm::host::grouped_gemm<kConfig>(*block, *static_cast<const
//     HostGroupedParams*>(args[0]));
//   }
#pragma once

#include <deep_gemm/abi/host_grouped.h>
#include <deep_gemm/host/gemm.hpp>

namespace deep_gemm::host {

template <HostGemmConfig C>
void grouped_gemm(const DjHostBlock& block, const HostGroupedParams& params) {
  const HostGemmPart& part = params.parts[block.index[0]];
  HostGemmParams p = params.gemm;
  p.a = part.a;
  p.b = part.b;
  p.a_scale.data = part.a_scale;
  p.b_scale.data = part.b_scale;
  p.d = part.d;
  p.c = part.c;
  p.m = part.row + part.rows;
  p.k = part.k;
  gemm_block<C>(block.thread, part.row, block.index[1] * p.block_n, p);
}

}  // namespace deep_gemm::host
