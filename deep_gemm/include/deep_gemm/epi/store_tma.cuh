// A warp's 16 rows of fp32 accumulators -> bf16 in global memory by the copy engine, 64 columns a
// copy, through `Slots` buffers of 2 KB that are the warp's own. No barrier beyond the warp.
//   epi::store_rows_bf16<128, 2>(sum, stage, first_slot, params.d, col, row, group);
// The map clips rows and columns beyond the tensor. Leaves out: accumulation into D.
#pragma once

#include <deep_gemm/layout/smem_tile.cuh>
#include <deep_gemm/ptx/fence.cuh>
#include <deep_gemm/ptx/memory.cuh>
#include <deep_gemm/ptx/tma.cuh>

namespace deep_gemm::epi {

inline constexpr int kStageBytes = 16 * layout::kRowBytes;

// stage: the warp's first buffer. first_slot: which one to begin with, as pieces of 64 columns go
// round.
template <int N, int Slots, class Map>
DG_DEVICE void store_rows_bf16(const float (&sum)[N / 2], u8* stage, int first_slot, const Map& map,
                               i32 col, i32 row, i32 group) {
  const u32 lane = threadIdx.x % 32;
  const u32 put_row = lane % 8 + (lane & 8);
  constexpr int kAll = N / 8;
#pragma unroll
  for (int first = 0; first < kAll; first += 8) {
    u8* slot = stage + (first_slot + first / 8) % Slots * kStageBytes;
    const u32 base = ptx::shared_address(slot);
    const int chunks = kAll - first < 8 ? kAll - first : 8;
    if (lane == 0) ptx::bulk_wait_read<Slots - 1>();
    ptx::warp_sync();
#pragma unroll
    for (int c = 0; c < chunks; c += 2) {
      const int j = 4 * (first + c);
      const u32 r0 = ptx::pack_bf16(sum[j], sum[j + 1]);
      const u32 r1 = ptx::pack_bf16(sum[j + 2], sum[j + 3]);
      if (c + 1 < chunks) {
        ptx::stmatrix_x4(base + layout::swizzle128(put_row, c + lane / 16), r0, r1,
                         ptx::pack_bf16(sum[j + 4], sum[j + 5]),
                         ptx::pack_bf16(sum[j + 6], sum[j + 7]));
      } else {
        ptx::stmatrix_x2(base + layout::swizzle128(put_row, c), r0, r1);
      }
    }
    // Ordering: written by this warp's stmatrix, read by the copy engine.
    ptx::fence_proxy_async_shared();
    ptx::warp_sync();
    if (lane == 0) {
      ptx::tma_store_3d(&map, slot, col + first * 8, row, group);
      ptx::bulk_commit();
    }
  }
}

}  // namespace deep_gemm::epi
