// Loads, stores, matrix moves between registers and shared memory, and conversions: one instruction
// each.
//   ptx::stmatrix_x4(address, r0, r1, r2, r3);   float x = ptx::load_global(p);
// Leaves out: where data lies (layout/) and copies that complete later (tma.cuh).
#pragma once

#include <deep_gemm/ptx/types.cuh>

namespace deep_gemm::ptx {

struct alignas(16) Words4 {
  u32 x, y, z, w;
};
struct alignas(16) Floats4 {
  float x, y, z, w;
};

// ld.global.nc: data that nothing writes while this kernel runs.
DG_DEVICE float load_global(const float* p) {
  float v;
  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(v) : "l"(p));
  return v;
}
DG_DEVICE i32 load_global(const i32* p) {
  i32 v;
  asm volatile("ld.global.nc.s32 %0, [%1];" : "=r"(v) : "l"(p));
  return v;
}

DG_DEVICE Floats4 load_global_floats4(const float* p) {
  Floats4 v;
  asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(p));
  return v;
}

// ld.global of data that this kernel may overwrite: two bf16.
DG_DEVICE u32 load_global_word(const void* p) {
  u32 v;
  asm volatile("ld.global.b32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}

// st.global.v4
DG_DEVICE void store_global(void* p, const Words4& v) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z),
               "r"(v.w)
               : "memory");
}

// ld.shared.f32, ld.shared.v4
DG_DEVICE float load_shared(u32 address) {
  float v;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(address));
  return v;
}
DG_DEVICE Floats4 load_shared_floats4(u32 address) {
  Floats4 v;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(address));
  return v;
}
DG_DEVICE Words4 load_shared_words4(u32 address) {
  Words4 v;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(address)
               : "memory");
  return v;
}

// stmatrix: 8x8 tiles of 16-bit values; lane l gives the address of row l % 8 of tile l / 8.
DG_DEVICE void stmatrix_x4(u32 address, u32 r0, u32 r1, u32 r2, u32 r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(r0), "r"(r1), "r"(r2), "r"(r3)
               : "memory");
}
DG_DEVICE void stmatrix_x2(u32 address, u32 r0, u32 r1) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(r0),
               "r"(r1)
               : "memory");
}

// ldmatrix: the reverse.
DG_DEVICE Words4 ldmatrix_x4(u32 address) {
  Words4 v;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(address)
               : "memory");
  return v;
}

// cvt.rn.bf16x2.f32: low half = low.
DG_DEVICE u32 pack_bf16(float low, float high) {
  u32 v;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low));
  return v;
}

}  // namespace deep_gemm::ptx
