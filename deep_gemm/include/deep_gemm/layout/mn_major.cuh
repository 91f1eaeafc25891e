// MN-major 16-bit wgmma operands: chunks of 64 rows (128 bytes) times 64 of K under the copy
// engine's 128-byte swizzle; chunk after chunk along MN.
//   u64 desc = layout::mn_major_descriptor(ptx::shared_address(tile));
//   desc + layout::descriptor_bytes(layout::kMnStepBytes)             // the next 16 along K
//   layout::kMnChunkBytes                                             // from chunk to chunk
// Leaves out: K-major tiles (smem_tile.cuh).
#pragma once

#include <deep_gemm/layout/smem_tile.cuh>

namespace deep_gemm::layout {

inline constexpr int kMnChunkRows = 64;
inline constexpr u32 kMnChunkBytes = 64 * kRowBytes;
inline constexpr u32 kMnStepBytes = 16 * kRowBytes;

// Leading offset (bits 16-29): from a chunk to the next; stride offset (32-45): from 8 of K to the
// next 8; swizzle 128 (62-63).
DG_DEVICE u64 mn_major_descriptor(u32 shared_address) {
  return (1ull << 62) | (static_cast<u64>(kAtomBytes >> 4) << 32) |
         (static_cast<u64>(kMnChunkBytes >> 4) << 16) | ((shared_address & 0x3FFFF) >> 4);
}

}  // namespace deep_gemm::layout
