// Clears the end of an MN-major tile along K: what is there belongs to somebody else.
//   layout::clear_mn_lines(smem.a[slot], 2, 17, lane);       // lines 17 to 63 of two chunks
// All lanes of a warp call. Leaves out: the fence before wgmma reads.
#pragma once

#include <deep_gemm/layout/mn_major.cuh>
#include <deep_gemm/ptx/exchange.cuh>
#include <deep_gemm/ptx/mbarrier.cuh>

namespace deep_gemm::layout {

DG_DEVICE void clear_mn_lines(u8* chunks, u32 num_chunks, u32 first, u32 lane) {
  const u32 lines = 64 - first, base = ptx::shared_address(chunks) + lane % 16 * 8;
  for (u32 i = lane / 16; i < lines * num_chunks; i += 2) {
    const u32 chunk = i / lines, line = first + i - chunk * lines;
    ptx::store_shared(base + chunk * kMnChunkBytes + line * kRowBytes, 0, 0);
  }
}

}  // namespace deep_gemm::layout
