// Shared-memory tiles of 128-byte rows under the copy engine's 128-byte swizzle, and their wgmma
// descriptors.
//   u64 desc = layout::swizzle128_descriptor(ptx::shared_address(tile));   // K-major, rows of 128
//   bytes desc + layout::descriptor_bytes(32)                                     // the next k
//   slice layout::swizzle128(row, chunk)                                          // byte of a
//   16-byte chunk
// Leaves out: who fills the tile (tma) and when it is full (pipe/ring).
#pragma once

#include <deep_gemm/ptx/types.cuh>

namespace deep_gemm::layout {

inline constexpr u32 kRowBytes = 128;
inline constexpr u32 kAtomBytes =
    1024;  // 8 rows: the period of the swizzle, and the alignment of a tile

// Byte offset of 16-byte chunk `chunk` of row `row`.
DG_DEVICE constexpr u32 swizzle128(u32 row, u32 chunk) {
  return row * kRowBytes + ((chunk ^ (row & 7)) << 4);
}

// Of fp32 accumulators: where a lane's pair of columns, from 8 * j + 2 * (lane % 4), begins in a
// row of 32 of them.
DG_DEVICE constexpr u32 swizzle128_pair(u32 lane, u32 row, u32 j) {
  return swizzle128(row, 2 * j + lane % 4 / 2) + lane % 2 * 8;
}

// Of 16 staged rows of 128 bytes, read back as they are to lie in memory: in one turn a warp reads
// kStoreRows rows from `begin` on, a lane 16 bytes.
inline constexpr u32 kStoreRows = 4;
DG_DEVICE constexpr u32 staged_row(u32 lane) { return lane / 8; }         // behind `begin`
DG_DEVICE constexpr u32 staged_bytes(u32 lane) { return lane % 8 * 16; }  // in front of its own
DG_DEVICE constexpr u32 staged_chunk(u32 lane, u32 begin) {
  return swizzle128(begin + staged_row(lane), lane % 8);
}

// Descriptor fields count in 16-byte units.
DG_DEVICE constexpr u64 descriptor_bytes(u32 bytes) { return bytes >> 4; }

// K-major operand: start address (bits 0-13), leading offset unused under a swizzle (16-29), 1024
// bytes from one group of 8 rows to the next (32-45), swizzle 128 (62-63).
DG_DEVICE u64 swizzle128_descriptor(u32 shared_address) {
  return (1ull << 62) | (static_cast<u64>(kAtomBytes >> 4) << 32) | (1ull << 16) |
         ((shared_address & 0x3FFFF) >> 4);
}

// The kernel's shared-memory struct at the start of dynamic shared memory. A struct that holds
// swizzled tiles is aligned to 1024, and so must its start be: the runtime places dynamic memory at
// the start of a block's window when the kernel has no static shared memory.
template <class Smem>
DG_DEVICE Smem& shared_struct(u8* dynamic) {
  return *reinterpret_cast<Smem*>(dynamic);
}

}  // namespace deep_gemm::layout
