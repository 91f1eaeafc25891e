// A warp's 16 rows of fp32 accumulators -> bf16 or float32 in global memory, row by row, as the
// scheduler says.
//   epi::store_rows_by_use<128>(schedule, tile, sum, d, stride, col, num_cols, row);
// For the few tiles whose rows differ in use. Leaves out: whole tiles (store_tma.cuh,
// store_f32.cuh).
#pragma once

#include <deep_gemm/ptx/memory.cuh>
#include <deep_gemm/sched/tile.cuh>

namespace deep_gemm::epi {

// d: element (row 0, column `col`) of the tile's group. row: the warp's first, inside the tile.
template <int N, class Schedule, class T>
DG_DEVICE void store_rows_by_use(const Schedule& schedule, const sched::Tile& tile,
                                 const float (&sum)[N / 2], T* d, i64 stride, i32 col, i32 num_cols,
                                 i32 row) {
  const i32 lane = static_cast<i32>(threadIdx.x % 32);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const i32 r = row + lane / 4 + 8 * half;
    if (tile.row + r >= tile.row_end) continue;
    const sched::RowUse use = schedule.use_of(tile, tile.row + r);
    if (use == sched::RowUse::Skip) continue;
    T* to = d + (tile.local_row + r) * stride;
#pragma unroll
    for (int j = 0; j < N / 8; ++j) {
      const float* pair = sum + 4 * j + 2 * half;
      const bool is_zero = use == sched::RowUse::Zero;
      if constexpr (sizeof(T) == sizeof(float)) {
        const i32 at = col + 8 * j + lane % 4 * 2;
        if (at < num_cols) to[at] = is_zero ? 0.0f : pair[0];
        if (at + 1 < num_cols) to[at + 1] = is_zero ? 0.0f : pair[1];
      } else {
        const u32 packed = is_zero ? 0 : ptx::pack_bf16(pair[0], pair[1]);
        const i32 at = col + 8 * j + lane % 4 * 2;
        if (at < num_cols) to[at] = static_cast<u16>(packed);
        if (at + 1 < num_cols) to[at + 1] = static_cast<u16>(packed >> 16);
      }
    }
  }
}

}  // namespace deep_gemm::epi
