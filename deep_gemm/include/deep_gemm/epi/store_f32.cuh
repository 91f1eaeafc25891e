// A warp's 16 rows of fp32 accumulators -> float32 in global memory by the copy engine, 32 columns
// a copy, stored or added, through `Slots` buffers of 2 KB that are the warp's own.
//   epi::store_rows_f32<128, 2, true>(sum, stage, params.d, col, row, group);    // d += sum
// The map (float32, box {32, 16, 1}, 128-byte swizzle) clips rows and columns beyond the tensor;
// every element is stored or added once. Leaves out: bf16 (store_tma.cuh), reading c
// (add_rows.cuh).
#pragma once

#include <deep_gemm/layout/smem_tile.cuh>
#include <deep_gemm/ptx/exchange.cuh>
#include <deep_gemm/ptx/fence.cuh>
#include <deep_gemm/ptx/tma.cuh>

namespace deep_gemm::epi {

inline constexpr int kF32StageBytes = 16 * layout::kRowBytes, kF32Columns = 32;

// One piece into a buffer.
template <int N>
DG_DEVICE void stage_piece_f32(const float (&sum)[N / 2], int piece, u8* buffer) {
  const u32 lane = threadIdx.x % 32, base = ptx::shared_address(buffer);
#pragma unroll
  for (u32 j = 0; j < kF32Columns / 8; ++j) {
    const float* s = sum + piece * (kF32Columns / 2) + 4 * j;
#pragma unroll
    for (u32 half = 0; half < 2; ++half) {
      ptx::store_shared(base + layout::swizzle128_pair(lane, lane / 4 + 8 * half, j),
                        __float_as_uint(s[2 * half]), __float_as_uint(s[2 * half + 1]));
    }
  }
}

// stage: the warp's first buffer. As many pieces as there are buffers share a fence.
template <int N, int Slots, bool Adds, class Map>
DG_DEVICE void store_rows_f32(const float (&sum)[N / 2], u8* stage, const Map& map, i32 col,
                              i32 row, i32 group) {
  static_assert(N % kF32Columns == 0, "STORE_BOX: whole pieces, so that none is added twice");
  const u32 lane = threadIdx.x % 32;
  constexpr int kPieces = N / kF32Columns;
#pragma unroll
  for (int begin = 0; begin < kPieces; begin += Slots) {
    const int end = begin + Slots < kPieces ? begin + Slots : kPieces;
    if (lane == 0) ptx::bulk_wait_read<0>();
    ptx::warp_sync();
#pragma unroll
    for (int i = begin; i < end; ++i) {
      stage_piece_f32<N>(sum, i, stage + (i - begin) * kF32StageBytes);
    }
    // Ordering: written by this warp's st.shared, read by the copy engine.
    ptx::fence_proxy_async_shared();
    ptx::warp_sync();
    if (lane == 0) {
#pragma unroll
      for (int i = begin; i < end; ++i) {
        u8* slot = stage + (i - begin) * kF32StageBytes;
        if constexpr (Adds) {
          ptx::tma_reduce_add_3d(&map, slot, col + kF32Columns * i, row, group);
        } else {
          ptx::tma_store_3d(&map, slot, col + kF32Columns * i, row, group);
        }
      }
      ptx::bulk_commit();
    }
  }
}

}  // namespace deep_gemm::epi
