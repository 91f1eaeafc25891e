// Hyper-connection product and square sums on a CPU.                       stem: hc
//   d[s,m,n] = sum over k in split s of a[m,k] * tf32(b[n,k]);   sqr_sum[s,m] = sum of a[m,k]^2
// Grid: {cdiv(m, block_m), splits}; a block rounds the part of B that it reads, a panel at a time.
// Order: products are added by ascending k within 256 of k, then these sums by ascending k, in
// float. An element's bits depend on its own row of a and of b alone.
//   extern "C" void host_tf32_hc_prenorm_gemm(const DjHostBlock* block, void* const* args) {
//     deep_gemm::host::hc<24>(*block, *static_cast<const HcFlatParams*>(args[0]));
//   }
#pragma once

#include <deep_gemm/abi/hc_flat_params.h>
#include <deep_gemm/abi/host_block.h>
#include <deep_gemm/host/decode.hpp>

namespace deep_gemm::host {

inline constexpr int kHcPanelK = 256;  // of k between two looks at the sums
inline constexpr int kHcRows = 4;      // register tile: 4 rows by 3 vectors of 8 columns

namespace detail {

using simd::f32x8;
using simd::i32x8;

// As numeric/tf32_round.h, eight at a time.
[[gnu::always_inline]] inline f32x8 round_tf32x8(const f32x8& x) {
  const i32x8 bits = reinterpret_cast<const i32x8&>(x);
  const i32x8 rounded = (bits + 0x1000) & static_cast<std::int32_t>(0xFFFFE000u);
  const i32x8 is_special = (bits & 0x7F800000) == 0x7F800000;
  return reinterpret_cast<f32x8>((is_special & bits) | (~is_special & rounded));
}

// panel[k][column] of kColumns columns from `n0`, `kc` of k from `k0`; zero past the last column.
template <int kColumns>
inline void hc_pack_b(const HcFlatParams& p, std::int64_t n0, std::int64_t k0, std::int64_t kc,
                      float* panel) {
  for (std::int64_t c = 0; c < kColumns; c += 8) {
    for (std::int64_t k = 0; k < kc; k += 8) {
      f32x8 v[8];
      const std::int64_t left = kc - k;
      for (int r = 0; r < 8; ++r) {
        v[r] = f32x8{};
        if (n0 + c + r >= p.n) continue;
        const float* row = p.b + (n0 + c + r) * p.b_stride + k0 + k;
        std::memcpy(&v[r], row, static_cast<std::size_t>(left < 8 ? left : 8) * 4);
        v[r] = round_tf32x8(v[r]);
      }
      simd::transpose8(v);
      for (int j = 0; j < 8 && k + j < kc; ++j) simd::store(panel + (k + j) * kColumns + c, v[j]);
    }
  }
}

// panel[row][k] of kHcRows rows, and their squares added to `squares`, eight sums a row.
inline void hc_pack_a(const HcFlatParams& p, std::int64_t m0, std::int64_t k0, std::int64_t kc,
                      float* panel, float* squares, std::int64_t squares_stride) {
  const auto* a = static_cast<const std::uint8_t*>(p.a);
  for (int r = 0; r < kHcRows; ++r) {
    f32x8 sum = simd::load<f32x8>(squares + r * squares_stride);
    const bool is_row = m0 + r < p.m;
    const std::uint8_t* row = a + 2 * ((is_row ? m0 + r : m0) * p.a_stride + k0);
    for (std::int64_t k = 0; k < kc; k += 8) {
      const f32x8 x = !is_row       ? f32x8{}
                      : kc - k >= 8 ? Decode<ElementType::Bf16>::load8(row + 2 * k)
                                    : load_some<ElementType::Bf16>(row + 2 * k, kc - k);
      sum += x * x;
      simd::store(panel + r * kHcPanelK + k, x);
    }
    simd::store(squares + r * squares_stride, sum);
  }
}

template <int kColumns>
[[gnu::always_inline]] inline void hc_multiply(const float* a, const float* b, std::int64_t kc,
                                               float* sums, std::int64_t stride) {
  constexpr int kVectors = kColumns / 8;
  f32x8 sum[kHcRows][kVectors] = {};
  for (std::int64_t k = 0; k < kc; ++k) {
    f32x8 y[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) y[v] = simd::load<f32x8>(b + k * kColumns + 8 * v);
#pragma GCC unroll 4
    for (int r = 0; r < kHcRows; ++r) {
      const float x = a[r * kHcPanelK + k];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] += y[v] * x;
    }
  }
  for (int r = 0; r < kHcRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      float* target = sums + r * stride + 8 * v;
      simd::store(target, simd::load<f32x8>(target) + sum[r][v]);
    }
  }
}

}  // namespace detail

// One row block, one split; columns kColumns at a time, each with its own pass over A.
template <int kColumns>
inline void hc(const DjHostBlock& block, const HcFlatParams& p) {
  static_assert(kColumns % 8 == 0 && kColumns > 0 && kColumns <= 32, "COLUMNS: 8 to 32 by 8");
  const std::int64_t m0 = std::int64_t{block.index[0]} * p.block_m;
  const std::int64_t rows = p.m - m0 < p.block_m ? p.m - m0 : p.block_m;
  const std::int64_t split = block.index[1], blocks = (std::int64_t{p.k} + 63) / 64;
  const std::int64_t base = blocks / p.splits, extra = blocks % p.splits;
  const std::int64_t first = 64 * (split * base + (split < extra ? split : extra));
  const std::int64_t end_block = first + 64 * (base + (split < extra ? 1 : 0));
  const std::int64_t end = end_block < p.k ? end_block : p.k;
  constexpr std::int64_t kStride = kColumns + 8;  // sums of a row, then its eight square sums
  const std::int64_t rows_padded = (rows + kHcRows - 1) / kHcRows * kHcRows;
  auto* b = static_cast<float*>(p.workspace) + p.workspace_bytes / 4 * block.thread;
  float* a = b + kColumns * kHcPanelK;
  float* sums = a + kHcRows * kHcPanelK;
  float* d = p.d + (split * p.m + m0) * p.n;
  for (std::int64_t n0 = 0; n0 < p.n; n0 += kColumns) {
    std::memset(sums, 0, static_cast<std::size_t>(rows_padded * kStride) * 4);
    for (std::int64_t k0 = first; k0 < end; k0 += kHcPanelK) {
      const std::int64_t kc = end - k0 < kHcPanelK ? end - k0 : kHcPanelK;
      detail::hc_pack_b<kColumns>(p, n0, k0, kc, b);
      for (std::int64_t r = 0; r < rows; r += kHcRows) {
        detail::hc_pack_a(p, m0 + r, k0, kc, a, sums + r * kStride + kColumns, kStride);
        detail::hc_multiply<kColumns>(a, b, kc, sums + r * kStride, kStride);
      }
    }
    const std::int64_t columns = p.n - n0 < kColumns ? p.n - n0 : kColumns;
    for (std::int64_t r = 0; r < rows; ++r)
      std::memcpy(d + r * p.n + n0, sums + r * kStride, static_cast<std::size_t>(columns) * 4);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* s = sums + r * kStride + kColumns;
    p.sqr_sum[split * p.m + m0 + r] =
        ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
  }
}

}  // namespace deep_gemm::host
