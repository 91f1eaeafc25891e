// Matrix multiply of a warp, sm_80 and later: one instruction each.
//   ptx::mma_m16n8k16<true>(sum, a, b0, b1);                 // bf16; false: fp16
//   ptx::Words4 f = ptx::ldmatrix_x4_trans(address);
// Leaves out: warpgroup products (wgmma.cuh) and plain matrix loads (memory.cuh).
#pragma once

#include <deep_gemm/ptx/memory.cuh>

namespace deep_gemm::ptx {

// mma.sync m16n8k16, fp32 sums. a: rows lane/4 and +8, then the same 8 further along k.
template <bool kIsBf16>
DG_DEVICE void mma_m16n8k16(float (&d)[4], const Words4& a, u32 b0, u32 b1) {
  if constexpr (kIsBf16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
  }
}

// ldmatrix.trans: as ldmatrix_x4, each 8x8 tile transposed.
DG_DEVICE Words4 ldmatrix_x4_trans(u32 address) {
  Words4 v;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(address)
               : "memory");
  return v;
}

}  // namespace deep_gemm::ptx
