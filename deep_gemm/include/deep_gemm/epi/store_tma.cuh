// A warp's 16 rows of fp32 accumulators -> bf16 in global memory by the copy engine, 64 columns a
// copy, through `Slots` buffers of 2 KB that are the warp's own. No barrier beyond the warp.
//   epi::store_rows_bf16<128, 2>(sum, stage, params.d, col, row, group);
// The map (box {64, 16, 1}, 128-byte swizzle) clips rows and columns beyond the tensor. The last
// piece ends with the tile: it may repeat columns of the one before. Leaves out: accumulation into
// D.
#pragma once

#include <deep_gemm/layout/smem_tile.cuh>
#include <deep_gemm/ptx/fence.cuh>
#include <deep_gemm/ptx/memory.cuh>
#include <deep_gemm/ptx/tma.cuh>

namespace deep_gemm::epi {

inline constexpr int kStageBytes = 16 * layout::kRowBytes;

DG_DEVICE constexpr int pieces_of(int columns) { return (columns + 63) / 64; }

DG_DEVICE constexpr i32 piece_column(int columns, int piece) {
  return piece + 1 < pieces_of(columns) ? 64 * piece : columns - 64;
}

// One piece into a buffer.
template <int N>
DG_DEVICE void stage_piece_bf16(const float (&sum)[N / 2], int piece, u8* buffer) {
  const u32 lane = threadIdx.x % 32, row = lane % 8 + (lane & 8);
  const u32 base = ptx::shared_address(buffer);
#pragma unroll
  for (int c = 0; c < 8; c += 2) {
    const float* s = sum + piece_column(N, piece) / 2 + 4 * c;
    ptx::stmatrix_x4(base + layout::swizzle128(row, c + lane / 16), ptx::pack_bf16(s[0], s[1]),
                     ptx::pack_bf16(s[2], s[3]), ptx::pack_bf16(s[4], s[5]),
                     ptx::pack_bf16(s[6], s[7]));
  }
}

// All pieces, one buffer each: no fence, and no copy.
template <int N>
DG_DEVICE void stage_rows_bf16(const float (&sum)[N / 2], u8* stage) {
#pragma unroll
  for (int i = 0; i < pieces_of(N); ++i) stage_piece_bf16<N>(sum, i, stage + i * kStageBytes);
}

// stage: the warp's first buffer. As many pieces as there are buffers share a fence.
template <int N, int Slots, class Map>
DG_DEVICE void store_rows_bf16(const float (&sum)[N / 2], u8* stage, const Map& map, i32 col,
                               i32 row, i32 group) {
  const u32 lane = threadIdx.x % 32;
  constexpr int kPieces = pieces_of(N);
#pragma unroll
  for (int begin = 0; begin < kPieces; begin += Slots) {
    const int end = begin + Slots < kPieces ? begin + Slots : kPieces;
    if (lane == 0) ptx::bulk_wait_read<0>();
    ptx::warp_sync();
#pragma unroll
    for (int i = begin; i < end; ++i) {
      stage_piece_bf16<N>(sum, i, stage + (i - begin) * kStageBytes);
    }
    // Ordering: written by this warp's stmatrix, read by the copy engine.
    ptx::fence_proxy_async_shared();
    ptx::warp_sync();
    if (lane == 0) {
#pragma unroll
      for (int i = begin; i < end; ++i) {
        ptx::tma_store_3d(&map, stage + (i - begin) * kStageBytes, col + piece_column(N, i), row,
                          group);
      }
      ptx::bulk_commit();
    }
  }
}

}  // namespace deep_gemm::epi
