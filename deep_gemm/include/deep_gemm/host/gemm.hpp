// Dense GEMM on a CPU, with or without scales.                        stem: gemm
//   d[m,n] = alpha * sum over kb of (a_scale[m,kb] * b_scale[n,kb]) * dot_kb(a[m], b[n])  (+
//   c[m,n])
// Grid: {cdiv(m, block_m), cdiv(n, block_n)}; a block packs what it reads, so blocks share nothing.
// Order: dot_kb starts at zero and adds block_k products by ascending k; blocks of K are added by
// ascending kb, in float. Hence an element's bits depend on its own row and column alone.
//   constexpr HostGemmConfig kConfig{...};
//   extern "C" void host_fp8_gemm(const DjHostBlock* block, void* const* args) {
//     deep_gemm::host::gemm<kConfig>(*block, *static_cast<const HostGemmParams*>(args[0]));
//   }
#pragma once

#include <deep_gemm/abi/host_block.h>
#include <deep_gemm/abi/host_gemm.h>
#include <deep_gemm/host/pack.hpp>

namespace deep_gemm::host {

// ---- Contract: what a plan may ask for (same words as plan/gemm_legality) ----
template <HostGemmConfig C>
struct GemmContract {
  static_assert(C.vector_bytes == 16 || C.vector_bytes == 32 || C.vector_bytes == 64,
                "VECTOR_BYTES: the width of a register of the target");
  static_assert(C.rows >= 1 && (C.rows < 8 || C.rows % 8 == 0), "TILE_ROWS: one group or eights");
  static_assert((C.vectors * C.vector_bytes / 4) % 8 == 0, "TILE_COLUMNS: groups of eight");
  static_assert(C.block_k >= 8, "K_BLOCK: a panel holds at least one group");
};

// ---- Derived: numbers that follow from the configuration ----
template <HostGemmConfig C>
struct GemmDerived : GemmContract<C> {
  static constexpr int kLanes = C.vector_bytes / 4;
  static constexpr int kCols = C.vectors * kLanes;
  using Vec = simd::Vector<float, C.vector_bytes>;
};

inline std::int64_t round_up(std::int64_t x, std::int64_t to) { return (x + to - 1) / to * to; }

// ---- Workspace: one thread's, floats, every part 64-byte aligned ----
template <HostGemmConfig C>
struct Workspace {
  float* a;        // panels of kRows by block_k
  float* b;        // one panel of kCols by block_k
  float* acc;      // rounded block_m by rounded block_n
  float* a_scale;  // of this block of K, one a row
  float* b_scale;  // one a column
  std::int64_t acc_stride;

  static Workspace carve(const HostGemmParams& p, std::uint32_t thread) {
    const std::int64_t rows = round_up(p.block_m, C.rows);
    const std::int64_t cols = round_up(p.block_n, GemmDerived<C>::kCols);
    auto* at = reinterpret_cast<float*>(static_cast<std::uint8_t*>(p.workspace) +
                                        thread * p.workspace_bytes);
    const auto take = [&at](std::int64_t floats) {
      float* part = at;
      at += round_up(floats, 16);
      return part;
    };
    Workspace w;
    w.a = take(rows * C.block_k + kPanelSlack);
    w.b = take(GemmDerived<C>::kCols * C.block_k + kPanelSlack);
    w.acc = take(rows * cols);
    w.a_scale = take(rows);
    w.b_scale = take(cols);
    w.acc_stride = cols;
    return w;
  }
};

// ---- Scales: one block of K's, as floats; 0 for rows and columns that do not exist ----

inline float scale_at(const HostScale& s, std::int64_t mn, std::int64_t kb) {
  const std::int64_t row = mn / s.gran_mn * s.stride_mn;
  if (s.type == ScaleType::F32) return static_cast<const float*>(s.data)[row + kb * s.stride_k];
  const auto word = static_cast<const std::uint32_t*>(s.data)[row + kb / 4 * s.stride_k];
  const std::uint32_t exponent = word >> (kb % 4 * 8) & 0xFFu;
  const std::uint32_t bits = exponent == 0xFFu ? 0x7FC00000u
                             : exponent == 0   ? 0x00400000u
                                               : exponent << 23;
  return __builtin_bit_cast(float, bits);
}

inline void gather_scales(const HostScale& s, std::int64_t first, std::int64_t count,
                          std::int64_t padded, std::int64_t k0, float* out) {
  if (s.type == ScaleType::None) return;
  const std::int64_t kb = k0 / s.gran_k;
  for (std::int64_t i = 0; i < count;) {
    const float value = scale_at(s, first + i, kb);
    const std::int64_t group_end = ((first + i) / s.gran_mn + 1) * s.gran_mn - first;
    const std::int64_t end = group_end < count ? group_end : count;
    for (; i < end; ++i) out[i] = value;
  }
  for (std::int64_t i = count; i < padded; ++i) out[i] = 0.0f;
}

// ---- Register tile: kRows x kCols products of one block of K, then into the accumulators ----
template <HostGemmConfig C, int kRows>
[[gnu::always_inline]] inline void multiply_tile(const float* a, const float* b, std::int64_t kc,
                                                 const float* a_scale, const float* b_scale,
                                                 bool is_scaled, float* acc,
                                                 std::int64_t acc_stride) {
  using D = GemmDerived<C>;
  using Vec = typename D::Vec;
  Vec sum[kRows][C.vectors] = {};
  for (std::int64_t k = 0; k < kc; ++k) {
    Vec bv[C.vectors];
#pragma GCC unroll 4
    for (int v = 0; v < C.vectors; ++v) bv[v] = simd::load<Vec>(b + k * D::kCols + v * D::kLanes);
#pragma GCC unroll 32
    for (int r = 0; r < kRows; ++r) {
      const float av = a[k * C.rows + r];
#pragma GCC unroll 4
      for (int v = 0; v < C.vectors; ++v) sum[r][v] += av * bv[v];
    }
  }
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < C.vectors; ++v) {
      float* at = acc + r * acc_stride + v * D::kLanes;
      Vec total = simd::load<Vec>(at);
      if (is_scaled) {
        total += (a_scale[r] * simd::load<Vec>(b_scale + v * D::kLanes)) * sum[r][v];
      } else {
        total += sum[r][v];
      }
      simd::store(at, total);
    }
  }
}

// ---- Epilogue: alpha, c, rounding ----

inline simd::u16x8 to_bf16(const simd::f32x8& x) {
  const auto bits = reinterpret_cast<simd::u32x8>(x);
  const auto is_nan = reinterpret_cast<simd::u32x8>(x != x);
  const simd::u32x8 rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  return __builtin_convertvector((rounded & ~is_nan) | (is_nan & 0x7FC0u), simd::u16x8);
}

template <class T>
[[gnu::always_inline]] inline simd::f32x8 widen8(const T* p) {
  if constexpr (sizeof(T) == 4) {
    return simd::load<simd::f32x8>(p);
  } else {
    return Decode<ElementType::Bf16>::load8(reinterpret_cast<const std::uint8_t*>(p));
  }
}

template <class T>
[[gnu::always_inline]] inline void narrow8(T* p, const simd::f32x8& x) {
  if constexpr (sizeof(T) == 4) {
    simd::store(p, x);
  } else {
    simd::store(p, to_bf16(x));
  }
}

template <class T>
inline void store_row(T* d, const T* c, const float* acc, std::int64_t cols, float alpha) {
  std::int64_t i = 0;
  for (; i + 8 <= cols; i += 8) {
    simd::f32x8 x = alpha * simd::load<simd::f32x8>(acc + i);
    if (c != nullptr) x += widen8(c + i);
    narrow8(d + i, x);
  }
  if (i == cols) return;
  T rest[8] = {};
  const auto bytes = static_cast<std::size_t>(cols - i) * sizeof(T);
  simd::f32x8 x = alpha * simd::load<simd::f32x8>(acc + i);  // acc is padded to whole panels
  if (c != nullptr) {
    std::memcpy(rest, c + i, bytes);
    x += widen8(rest);
  }
  narrow8(rest, x);
  std::memcpy(d + i, rest, bytes);
}

template <class T>
inline void store_block(const HostGemmParams& p, std::int64_t m0, std::int64_t rows,
                        std::int64_t n0, std::int64_t cols, const float* acc,
                        std::int64_t acc_stride) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* c = p.c == nullptr ? nullptr : static_cast<const T*>(p.c) + (m0 + r) * p.c_stride + n0;
    store_row(static_cast<T*>(p.d) + (m0 + r) * p.d_stride + n0, c, acc + r * acc_stride, cols,
              p.alpha);
  }
}

// ---- Body: up to block_m rows from m0 and block_n columns from n0 ----
template <HostGemmConfig C>
void gemm_block(std::uint32_t thread, std::int64_t m0, std::int64_t n0, const HostGemmParams& p) {
  using D = GemmDerived<C>;
  const std::int64_t rows = p.m - m0 < p.block_m ? p.m - m0 : p.block_m;
  const std::int64_t cols = p.n - n0 < p.block_n ? p.n - n0 : p.block_n;
  const std::int64_t padded_rows = round_up(rows, C.rows), padded_cols = round_up(cols, D::kCols);
  const Workspace<C> w = Workspace<C>::carve(p, thread);
  const bool is_scaled = p.a_scale.type != ScaleType::None;
  for (std::int64_t r = 0; r < padded_rows; ++r)
    std::memset(w.acc + r * w.acc_stride, 0, static_cast<std::size_t>(padded_cols) * 4);

  for (std::int64_t k0 = 0; k0 < p.k; k0 += C.block_k) {
    const std::int64_t kc = p.k - k0 < C.block_k ? p.k - k0 : C.block_k;
    gather_scales(p.a_scale, m0, rows, padded_rows, k0, w.a_scale);
    gather_scales(p.b_scale, n0, cols, padded_cols, k0, w.b_scale);
    for (std::int64_t r = 0; r < rows; r += C.rows)
      pack_panel<C.a, C.a_major, C.rows>(p.a, m0 + r, rows - r, k0, kc, w.a + r * C.block_k);
    for (std::int64_t c = 0; c < cols; c += D::kCols) {
      pack_panel<C.b, C.b_major, D::kCols>(p.b, n0 + c, cols - c, k0, kc, w.b);
      for (std::int64_t r = 0; r < rows; r += C.rows) {
        const float* a = w.a + r * C.block_k;
        float* acc = w.acc + r * w.acc_stride + c;
        if (rows - r == 1) {
          multiply_tile<C, 1>(a, w.b, kc, w.a_scale + r, w.b_scale + c, is_scaled, acc,
                              w.acc_stride);
        } else {
          multiply_tile<C, C.rows>(a, w.b, kc, w.a_scale + r, w.b_scale + c, is_scaled, acc,
                                   w.acc_stride);
        }
      }
    }
  }
  if (p.d_type == OutputType::F32) {
    store_block<float>(p, m0, rows, n0, cols, w.acc, w.acc_stride);
  } else {
    store_block<std::uint16_t>(p, m0, rows, n0, cols, w.acc, w.acc_stride);
  }
}

// One block of the grid.
template <HostGemmConfig C>
void gemm(const DjHostBlock& block, const HostGemmParams& p) {
  gemm_block<C>(block.thread, block.index[0] * p.block_m, block.index[1] * p.block_n, p);
}

}  // namespace deep_gemm::host
