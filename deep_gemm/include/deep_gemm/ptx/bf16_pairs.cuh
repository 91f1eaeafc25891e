// Pairs of bf16 in one register: multiply, maximum that keeps NaN, and the matrix product of a
// warp. sm_80.
//   u32 y = ptx::scale_bf16x2(x, 0x7B807B80);       // both halves times 2^120, exactly rounded
//   ptx::mma_bf16(acc, a0, a1, a2, a3, b0, b1);     // m16n8k16, fp32 sums
// Thread t of the warp holds of A rows t / 4 (a0, a2) and t / 4 + 8 (a1, a3), columns 2 * (t % 4)
// and the next (a0, a1), and those plus 8 (a2, a3); of B column t / 4, the same k (b0, b1); of the
// sums rows t / 4 (0, 1) and t / 4 + 8 (2, 3), columns 2 * (t % 4) and the next.
#pragma once

#include <deep_gemm/ptx/types.cuh>

namespace deep_gemm::ptx {

// fma.rn.bf16x2 with -0: a product alone has no instruction on sm_80.
DG_DEVICE u32 scale_bf16x2(u32 x, u32 factors) {
  u32 y;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(y) : "r"(x), "r"(factors), "r"(0x80008000u));
  return y;
}

// mma.sync.m16n8k16.f32.bf16.bf16.f32
DG_DEVICE void mma_bf16(float (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// max.NaN.f32 with 0: a NaN stays one.
DG_DEVICE float relu(float x) {
  float y;
  asm("max.NaN.f32 %0, %1, 0f00000000;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace deep_gemm::ptx
