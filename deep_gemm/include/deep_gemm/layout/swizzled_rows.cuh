// K-major wgmma operands whose rows are 32, 64 or 128 bytes, under the copy engine's swizzle of
// that width.
//   u64 desc = layout::swizzled_rows_descriptor<64>(ptx::shared_address(tile));
//   desc + layout::descriptor_bytes(32)                                     // the next k slice
// Leaves out: element addresses inside a tile (smem_tile.cuh, 128-byte rows).
#pragma once

#include <deep_gemm/layout/smem_tile.cuh>

namespace deep_gemm::layout {

// Swizzle code in bits 62-63: 1, 2, 3 for 128, 64, 32 bytes; 8 rows from one group to the next.
template <int RowBytes>
DG_DEVICE u64 swizzled_rows_descriptor(u32 shared_address) {
  static_assert(RowBytes == 32 || RowBytes == 64 || RowBytes == 128,
                "ROW_BYTES: a swizzle's width");
  constexpr u64 kCode = RowBytes == 128 ? 1 : RowBytes == 64 ? 2 : 3;
  return (kCode << 62) | (static_cast<u64>(8 * RowBytes >> 4) << 32) | (1ull << 16) |
         ((shared_address & 0x3FFFF) >> 4);
}

}  // namespace deep_gemm::layout
