// The scales of one operand of a portable GEMM, as floats in shared memory: one a row and use.
//   Scales<128, 256, 64> s;  s.start(params.a_scale, p, row, rows);
//   s.read(k0, k);  ...;  s.store(shared);
// Leaves out: how they are applied (gemm.cuh).
#pragma once

#include <deep_gemm/abi/portable_gemm_params.h>
#include <deep_gemm/numeric/float_formats.h>
#include <deep_gemm/portable/operand.cuh>

namespace deep_gemm::portable {

// kScaleK: of K between two uses.
template <int kRows, int kThreads, int kScaleK>
struct Scales {
  static constexpr int kUses = kScaleK == 0 ? 0 : kScaleK < kBlockK ? kBlockK / kScaleK : 1;
  static constexpr int kPerThread = (kUses * kRows + kThreads - 1) / kThreads;
  static constexpr int kFloats = kUses * kRows;

  const PortableScale* scale;
  const void* data;
  i32 first_row, rows;
  float values[kPerThread == 0 ? 1 : kPerThread];

  DG_DEVICE void start(const PortableScale& s, const void* p, i32 row, i32 num_rows) {
    scale = &s;
    data = p;
    first_row = row;
    rows = num_rows;
  }

  DG_DEVICE float value(i32 row, i32 use) const {
    const i64 at = (row < rows ? row : rows - 1) >> scale->mn_shift;
    const i32 column = use >> scale->k_shift;
    if (scale->type == ScaleType::F32)
      return ptx::load_global(static_cast<const float*>(data) + at * scale->stride_mn +
                              column * scale->stride_k);
    const i32 word = ptx::load_global(static_cast<const i32*>(data) + at * scale->stride_mn +
                                      (column >> 2) * scale->stride_k);
    return numeric::ue8m0_to_float(static_cast<u8>(static_cast<u32>(word) >> (8 * (column & 3))));
  }

  DG_DEVICE void read(i32 k0, i32 k) {
    if constexpr (kScaleK != 0) {
#pragma unroll
      for (int i = 0; i < kPerThread; ++i) {
        const i32 at = static_cast<i32>(threadIdx.x) + i * kThreads;
        const i32 from = k0 + at / kRows * kScaleK;
        const bool exists = (kFloats % kThreads == 0 || at < kFloats) && from < k;
        values[i] = exists ? value(first_row + at % kRows, from / kScaleK) : 0.0f;
      }
    }
  }

  DG_DEVICE void store(float* shared) const {
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      const i32 at = static_cast<i32>(threadIdx.x) + i * kThreads;
      if (kFloats % kThreads == 0 || at < kFloats) shared[at] = values[i];
    }
  }
};

}  // namespace deep_gemm::portable
