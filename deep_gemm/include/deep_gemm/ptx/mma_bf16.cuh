// Warp matrix instruction (mma.sync), m16n8k16, bf16 in, fp32 sums. sm_80 and later.
//   float sum[4];  ptx::mma_bf16(sum, a0, a1, a2, a3, b0, b1);
// Lane l holds rows l / 4 and l / 4 + 8. A: a0 and a2 are the first row's values 2 (l % 4) (+ 1)
// and the same + 8, a1 and a3 the second row's. B: column l / 4, b0 and b1 likewise. Sums: columns
// 2 (l % 4) (+ 1) of the first row, then of the second. Leaves out: where operands come from.
#pragma once

#include <deep_gemm/ptx/types.cuh>

namespace deep_gemm::ptx {

DG_DEVICE void mma_bf16(float (&sum)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7},"
      " {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// ld.global.nc of data that is read once: L1 keeps nothing of it, L2 fetches the whole line.
struct alignas(16) StreamedWords4 {
  u32 x, y, z, w;
};
DG_DEVICE StreamedWords4 load_streamed(const void* p) {
  StreamedWords4 v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
  return v;
}

}  // namespace deep_gemm::ptx
