// Adds a matrix in global memory to a warp's 16 rows of fp32 accumulators.
//   epi::add_rows<256>(sum, c, stride, rows, columns);      // const float* c, or bf16 as const
//   u16*
// c: the warp's first element; the warp may store to the same matrix later. Rows from `rows` and
// columns from `columns` on are not read. `columns` is even, pairs of elements are aligned. Leaves
// out: the store.
#pragma once

#include <deep_gemm/ptx/exchange.cuh>
#include <deep_gemm/ptx/memory.cuh>

namespace deep_gemm::epi {

// Two elements as they lie in memory.
DG_DEVICE ptx::Floats2 load_pair(const float* c) { return ptx::load_global_floats2(c); }
DG_DEVICE u32 load_pair(const u16* c) { return ptx::load_global_word(c); }
DG_DEVICE void add_pair(float* sum, const ptx::Floats2& pair) {
  sum[0] += pair.x;
  sum[1] += pair.y;
}
DG_DEVICE void add_pair(float* sum, u32 pair) {
  sum[0] += __uint_as_float(pair << 16);
  sum[1] += __uint_as_float(pair & 0xFFFF0000u);
}

template <int N, class T>
DG_DEVICE void add_rows(float (&sum)[N / 2], const T* c, i64 stride, i32 rows, i32 columns) {
  constexpr int kBatch = N % 32 == 0 ? 4 : 2;  // pairs under way together
  static_assert(N % (8 * kBatch) == 0, "ADD_BATCH: whole batches");
  const i32 lane = static_cast<i32>(threadIdx.x % 32);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const i32 row = lane / 4 + 8 * half;
    const T* line = c + row * stride + lane % 4 * 2;
    // Why no branch around the rows: warps that diverge beside wgmma go wrong.
    const i32 left = row < rows ? columns - lane % 4 * 2 : 0;
#pragma unroll
    for (int begin = 0; begin < N / 8; begin += kBatch) {
      decltype(load_pair(c)) pairs[kBatch];
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        const int at = 8 * (begin + j);
        pairs[j] = {};
        if (at < left) pairs[j] = load_pair(line + at);
      }
#pragma unroll
      for (int j = 0; j < kBatch; ++j) add_pair(sum + 4 * (begin + j) + 2 * half, pairs[j]);
    }
  }
}

}  // namespace deep_gemm::epi
