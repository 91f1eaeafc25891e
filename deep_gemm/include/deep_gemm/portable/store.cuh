// The end of a portable GEMM: alpha, c, rounding and the store, from mma's accumulators.
//   store<kFragsM, kFragsN>(params, schedule, tile, sums, warp_row, warp_col, lane);
// Every value of d is read (as c) and written by one thread. Leaves out: which rows are stored
// (the scheduler says).
#pragma once

#include <deep_gemm/numeric/float_formats.h>
#include <deep_gemm/sched/portable_tiles.cuh>

namespace deep_gemm::portable {

DG_DEVICE float load_output(const PortableGemmParams& params, i64 at) {
  if (params.d_type == OutputType::F32) return static_cast<const float*>(params.c)[at];
  return numeric::bf16_to_float(static_cast<const u16*>(params.c)[at]);
}

DG_DEVICE void store_one(const PortableGemmParams& params, i64 at, float x) {
  if (params.d_type == OutputType::F32) {
    static_cast<float*>(params.d)[at] = x;
  } else {
    static_cast<u16*>(params.d)[at] = static_cast<u16>(ptx::pack_bf16(x, 0.0f));
  }
}

DG_DEVICE void store_two(const PortableGemmParams& params, i64 at, float x, float y) {
  if (params.d_type == OutputType::F32) {
    struct alignas(8) Pair {
      float x, y;
    };
    *reinterpret_cast<Pair*>(static_cast<float*>(params.d) + at) = {x, y};
  } else {
    *reinterpret_cast<u32*>(static_cast<u16*>(params.d) + at) = ptx::pack_bf16(x, y);
  }
}

template <int kFragsM, int kFragsN, class Schedule>
DG_DEVICE void store(const PortableGemmParams& params, const Schedule& schedule,
                     const sched::PortableTile& tile, const float (&sums)[kFragsM][kFragsN][4],
                     u32 warp_row, u32 warp_col, u32 lane) {
#pragma unroll
  for (int i = 0; i < 2 * kFragsM; ++i) {
    const i32 row = tile.row + static_cast<i32>(warp_row + 8 * i + lane / 4);
    if (row >= tile.m) continue;
    const sched::RowUse use = schedule.use_of(tile, row);
    if (use == sched::RowUse::Skip) continue;
    const float alpha = params.alpha;
    const i64 d_row = tile.d + row * params.d_stride, c_row = tile.c + row * params.c_stride;
#pragma unroll
    for (int j = 0; j < kFragsN; ++j) {
      const i32 col = tile.col + static_cast<i32>(warp_col + 8 * j + lane % 4 * 2);
      float x = sums[i / 2][j][i % 2 * 2] * alpha, y = sums[i / 2][j][i % 2 * 2 + 1] * alpha;
      if (use == sched::RowUse::Zero) x = y = 0.0f;
      const bool has_x = col < tile.n, has_y = col + 1 < tile.n;
      if (params.c != nullptr && use == sched::RowUse::Store) {
        if (has_x) x += load_output(params, c_row + col);
        if (has_y) y += load_output(params, c_row + col + 1);
      }
      if (has_y && params.d_pairs != 0) {
        store_two(params, d_row + col, x, y);
      } else {
        if (has_x) store_one(params, d_row + col, x);
        if (has_y) store_one(params, d_row + col + 1, y);
      }
    }
  }
}

}  // namespace deep_gemm::portable
