// Operands as panels of floats: out[k * W + r] for W rows of A (or columns of B), zero past the
// end.
//   pack_panel<ElementType::E4m3, Major::K, 6>(operand, row, rows, k0, kc, out);
// A panel may write up to 7 floats past its end: the next panel, packed after it, covers them, and
// the buffer has room for the last. Nothing outside the given rows and k is read. Leaves scales and
// arithmetic to gemm.hpp.
#pragma once

#include <deep_gemm/host/decode.hpp>

namespace deep_gemm::host {

inline constexpr int kPanelSlack = 8;  // floats

namespace detail {

// K is contiguous: eight rows by eight k at a time, turned over in registers.
template <ElementType kType, int kWidth>
[[gnu::always_inline]] inline void pack_rows(const std::uint8_t* base, std::int64_t stride,
                                             std::int64_t rows, std::int64_t kc, float* out) {
  constexpr int kGroup = kWidth < 8 ? kWidth : 8;
  std::int64_t k = 0;
  for (; k + 8 <= kc; k += 8) {
    simd::f32x8 v[8];
    const std::uint8_t* p = base + Decode<kType>::bytes(k);
    if (rows >= kGroup) {
#pragma GCC unroll 8
      for (int r = 0; r < 8; ++r)
        v[r] = r < kGroup ? Decode<kType>::load8(p + r * stride) : simd::f32x8{};
    } else {
#pragma GCC unroll 8
      for (int r = 0; r < 8; ++r)
        v[r] = r < rows ? Decode<kType>::load8(p + r * stride) : simd::f32x8{};
    }
    simd::transpose8(v);
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) simd::store(out + (k + j) * kWidth, v[j]);
  }
  if (k == kc) return;
  simd::f32x8 v[8];
  for (int r = 0; r < 8; ++r)
    v[r] = r < rows ? load_some<kType>(base + Decode<kType>::bytes(k) + r * stride, kc - k)
                    : simd::f32x8{};
  simd::transpose8(v);
  for (int j = 0; k + j < kc; ++j) simd::store(out + (k + j) * kWidth, v[j]);
}

// Rows are contiguous: eight of them at each k.
template <ElementType kType, int kWidth>
[[gnu::always_inline]] inline void pack_columns(const std::uint8_t* base, std::int64_t stride,
                                                std::int64_t rows, std::int64_t kc, float* out) {
  if (rows >= 8) {
    for (std::int64_t k = 0; k < kc; ++k)
      simd::store(out + k * kWidth, Decode<kType>::load8(base + k * stride));
  } else {
    for (std::int64_t k = 0; k < kc; ++k)
      simd::store(out + k * kWidth, load_some<kType>(base + k * stride, rows));
  }
}

}  // namespace detail

// Rows from `row` on, of which `rows` exist; k in [k0, k0 + kc).
template <ElementType kType, Major kMajor, int kWidth>
inline void pack_panel(const HostOperand& operand, std::int64_t row, std::int64_t rows,
                       std::int64_t k0, std::int64_t kc, float* out) {
  static_assert(kWidth < 8 || kWidth % 8 == 0, "PANEL_WIDTH: groups of eight, or one group");
  using D = Decode<kType>;
  const auto* data = static_cast<const std::uint8_t*>(operand.data);
  constexpr int kGroup = kWidth < 8 ? kWidth : 8;
  for (int g = 0; g < kWidth; g += kGroup) {
    const std::int64_t left = rows - g < 0 ? 0 : rows - g;
    const std::int64_t own = left > kGroup ? kGroup : left;
    if constexpr (kMajor == Major::K) {
      detail::pack_rows<kType, kWidth>(data + (row + g) * operand.stride + D::bytes(k0),
                                       operand.stride, own, kc, out + g);
    } else {
      // A narrow panel loads the rows after it too, where they exist; the next k covers them.
      detail::pack_columns<kType, kWidth>(data + k0 * operand.stride + D::bytes(row + g),
                                          operand.stride, left, kc, out + g);
    }
  }
}

}  // namespace deep_gemm::host
