// Small stores, and loads from another block of the cluster: one instruction each. sm_90.
//   ptx::store_global(p, Floats2{x, y});   ptx::Floats4 v = ptx::load_cluster_floats4(remote);
// Leaves out: wide moves (memory.cuh), remote addresses (mbarrier.cuh) and barriers.
#pragma once

#include <deep_gemm/ptx/memory.cuh>

namespace deep_gemm::ptx {

struct alignas(8) Floats2 {
  float x, y;
};

// ld.global.v2.f32 of data that this kernel may overwrite.
DG_DEVICE Floats2 load_global_floats2(const float* p) {
  Floats2 v;
  asm volatile("ld.global.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "l"(p) : "memory");
  return v;
}

// ld.shared.v2.f32
DG_DEVICE Floats2 load_shared_floats2(u32 address) {
  Floats2 v;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(address));
  return v;
}

// st.global.v2.f32
DG_DEVICE void store_global(float* p, const Floats2& v) {
  asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(p), "f"(v.x), "f"(v.y) : "memory");
}

// st.global.v4.f32
DG_DEVICE void store_global(float* p, const Floats4& v) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(v.x), "f"(v.y), "f"(v.z),
               "f"(v.w)
               : "memory");
}

// st.shared.v2.b32
DG_DEVICE void store_shared(u32 address, u32 first, u32 second) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), "r"(first), "r"(second)
               : "memory");
}

// st.global of one logit, fp32 or rounded to bf16 (nearest, ties to even).
template <bool Bf16>
struct LogitOf {
  using Type = float;
};
template <>
struct LogitOf<true> {
  using Type = u16;
};
DG_DEVICE void store_logit(float* p, float v) {
  asm volatile("st.global.f32 [%0], %1;" ::"l"(p), "f"(v) : "memory");
}
DG_DEVICE void store_logit(u16* p, float v) {
  asm volatile("st.global.b16 [%0], %1;" ::"l"(p), "h"(static_cast<u16>(pack_bf16(v, 0.0f)))
               : "memory");
}

// ld.shared::cluster
DG_DEVICE float load_cluster(u32 remote) {
  float v;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(remote) : "memory");
  return v;
}
DG_DEVICE Floats4 load_cluster_floats4(u32 remote) {
  Floats4 v;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(remote)
               : "memory");
  return v;
}

}  // namespace deep_gemm::ptx
