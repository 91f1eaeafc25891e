// Eight elements of an operand as eight floats, exactly, NaN included.
//   f32x8 x = Decode<ElementType::E4m3>::load8(bytes);     // 8 contiguous elements
//   std::int64_t at = Decode<T>::bytes(row);               // where element `row` starts
// The values are those of numeric/float_formats.h, by arithmetic that has no branch.
// Leaves panels to pack.hpp.
#pragma once

#include <deep_gemm/abi/host_gemm.h>
#include <deep_gemm/host/simd.hpp>

namespace deep_gemm::host {

template <ElementType kType>
struct Decode;

namespace detail {

[[gnu::always_inline]] inline simd::f32x8 select(const simd::i32x8& mask, const simd::f32x8& yes,
                                                 const simd::f32x8& no) {
  return reinterpret_cast<simd::f32x8>((mask & reinterpret_cast<simd::i32x8>(yes)) |
                                       (~mask & reinterpret_cast<simd::i32x8>(no)));
}

// Codes without sign; kMantissaBits and kBias as in numeric::decode_magnitude.
template <int kMantissaBits, int kBias>
[[gnu::always_inline]] inline simd::f32x8 decode_magnitude(const simd::i32x8& code) {
  const simd::i32x8 normal = (code << (23 - kMantissaBits)) + ((127 - kBias) << 23);
  const float unit =
      __builtin_bit_cast(float, static_cast<std::int32_t>((128 - kBias - kMantissaBits) << 23));
  const simd::f32x8 subnormal = __builtin_convertvector(code, simd::f32x8) * unit;
  return select(code < (1 << kMantissaBits), subnormal, reinterpret_cast<simd::f32x8>(normal));
}

}  // namespace detail

template <>
struct Decode<ElementType::E4m3> {
  static constexpr std::int64_t bytes(std::int64_t elements) { return elements; }
  static constexpr std::int64_t span(std::int64_t elements) { return elements; }

  [[gnu::always_inline]] static simd::f32x8 load8(const std::uint8_t* p) {
    const simd::i32x8 code = __builtin_convertvector(simd::load<simd::u8x8>(p), simd::i32x8);
    const simd::i32x8 magnitude = code & 0x7F;
    simd::i32x8 bits = reinterpret_cast<simd::i32x8>(detail::decode_magnitude<3, 7>(magnitude));
    bits |= (magnitude == 0x7F) & 0x7FC00000;
    bits |= (code & 0x80) << 24;
    return reinterpret_cast<simd::f32x8>(bits);
  }
};

// Two per byte, the even element in the low nibble. Only even elements can be addressed.
template <>
struct Decode<ElementType::E2m1> {
  static constexpr std::int64_t bytes(std::int64_t elements) { return elements / 2; }
  static constexpr std::int64_t span(std::int64_t elements) { return (elements + 1) / 2; }

  [[gnu::always_inline]] static simd::f32x8 load8(const std::uint8_t* p) {
    const std::int32_t word = simd::load<std::int32_t>(p);
    const simd::i32x8 shifts{0, 4, 8, 12, 16, 20, 24, 28};
    const simd::i32x8 code = ((simd::i32x8{} + word) >> shifts) & 0xF;
    const simd::i32x8 magnitude = code & 7;
    simd::i32x8 bits = reinterpret_cast<simd::i32x8>(detail::decode_magnitude<1, 1>(magnitude));
    bits |= ((code & 8) << 28) & (magnitude != 0);
    return reinterpret_cast<simd::f32x8>(bits);
  }
};

template <>
struct Decode<ElementType::Bf16> {
  static constexpr std::int64_t bytes(std::int64_t elements) { return elements * 2; }
  static constexpr std::int64_t span(std::int64_t elements) { return elements * 2; }

  [[gnu::always_inline]] static simd::f32x8 load8(const std::uint8_t* p) {
    const simd::u32x8 wide = __builtin_convertvector(simd::load<simd::u16x8>(p), simd::u32x8);
    return reinterpret_cast<simd::f32x8>(wide << 16);
  }
};

// Fewer than eight: the rest reads as zero and is not touched in memory.
template <ElementType kType>
[[gnu::noinline]] inline simd::f32x8 load_some(const std::uint8_t* p, std::int64_t count) {
  std::uint8_t bytes[16] = {};
  std::memcpy(bytes, p, static_cast<std::size_t>(Decode<kType>::span(count)));
  simd::f32x8 v = Decode<kType>::load8(bytes);
  for (int i = 0; i < 8; ++i) v[i] = i < count ? v[i] : 0.0f;
  return v;
}

}  // namespace deep_gemm::host
