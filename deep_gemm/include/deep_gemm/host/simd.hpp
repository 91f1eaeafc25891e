// Vectors by the compiler's own extension: the same text becomes SSE, AVX, AVX-512 or NEON.
//   simd::f32x8 x = simd::load<simd::f32x8>(p);  x += y * z;  simd::store(p, x);
//   simd::transpose8(rows);
// Leaves number formats to decode.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

// Why: every function that passes a vector lives and dies in one kernel, whose compiler would
// otherwise warn that narrower targets pass it another way.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace deep_gemm::host::simd {

template <class T, int kBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));
};
template <class T, int kBytes>
using Vector = typename VectorOf<T, kBytes>::type;

// What the packers work in, whatever the width of the target's registers.
using f32x8 = Vector<float, 32>;
using i32x8 = Vector<std::int32_t, 32>;
using u32x8 = Vector<std::uint32_t, 32>;
using u16x8 = Vector<std::uint16_t, 16>;
using u8x8 = Vector<std::uint8_t, 8>;

template <class V>
[[gnu::always_inline]] inline V load(const void* p) {
  V v;
  std::memcpy(&v, p, sizeof(V));
  return v;
}
template <class V>
[[gnu::always_inline]] inline void store(void* p, const V& v) {
  std::memcpy(p, &v, sizeof(V));
}

// Why: GCC before 12 has only the first, Clang only the second.
#if defined(__clang__)
#define DG_SHUFFLE(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define DG_SHUFFLE(x, y, ...) __builtin_shuffle(x, y, ::deep_gemm::host::simd::i32x8{__VA_ARGS__})
#endif

[[gnu::always_inline]] inline void transpose8(f32x8 (&v)[8]) {
  f32x8 t[8], u[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; i += 2) {  // pairs of rows: a0 b0 a1 b1 | a4 b4 a5 b5
    t[i] = DG_SHUFFLE(v[i], v[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    t[i + 1] = DG_SHUFFLE(v[i], v[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {  // four rows of one column in each half
    u[i] = DG_SHUFFLE(t[i], t[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    u[i + 1] = DG_SHUFFLE(t[i], t[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    u[i + 2] = DG_SHUFFLE(t[i + 1], t[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    u[i + 3] = DG_SHUFFLE(t[i + 1], t[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    v[i] = DG_SHUFFLE(u[i], u[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    v[i + 4] = DG_SHUFFLE(u[i], u[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

#undef DG_SHUFFLE

}  // namespace deep_gemm::host::simd
