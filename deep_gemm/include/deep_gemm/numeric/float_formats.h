// The small number formats, one value at a time: E4M3, E2M1, UE8M0, UE4M3 and bf16 to float and
// back.
//   float x = numeric::e4m3_to_float(0x38);            // 1
//   unsigned char e = numeric::float_to_ue8m0(0.25f);  // 0x7D
// Host C++ and device code (nvcc, NVRTC) share it: no include, nothing but built-in types. Encoders
// round to nearest, ties to even. Leaves vectors to host/decode.hpp and tensors to the packers.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define DG_HD __host__ __device__ __forceinline__
#else
#define DG_HD inline
#endif

namespace deep_gemm::numeric {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;

inline constexpr u32 kFloatNan = 0x7FC00000u;

DG_HD constexpr float bits_to_float(u32 bits) { return __builtin_bit_cast(float, bits); }
DG_HD constexpr u32 float_to_bits(float x) { return __builtin_bit_cast(u32, x); }

// ---- bf16: the upper half of a float ----

DG_HD constexpr float bf16_to_float(u16 bits) {
  return bits_to_float(static_cast<u32>(bits) << 16);
}

DG_HD constexpr u16 float_to_bf16(float x) {
  const u32 bits = float_to_bits(x);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FC0;
  return static_cast<u16>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

// ---- A sign, EXPONENT bits and MANTISSA bits without infinities, the common part of E4M3 and E2M1
// ----

// Value of a non-negative code that is not NaN. The smallest exponent is 1 - bias for 0 and 1
// alike.
template <int kMantissaBits, int kBias>
DG_HD constexpr float decode_magnitude(u32 code) {
  const u32 normal = (code << (23 - kMantissaBits)) + (static_cast<u32>(127 - kBias) << 23);
  if ((code >> kMantissaBits) != 0) return bits_to_float(normal);
  const float unit = bits_to_float(static_cast<u32>(127 + 1 - kBias - kMantissaBits) << 23);
  return static_cast<float>(code) * unit;
}

// The code nearest to a finite |x|, not limited: the caller compares with its largest.
template <int kMantissaBits, int kBias>
DG_HD constexpr u32 encode_magnitude(u32 magnitude_bits) {
  constexpr u32 kShift = 23 - kMantissaBits;
  constexpr u32 kSmallestNormal = static_cast<u32>(127 + 1 - kBias) << 23;
  if (magnitude_bits >= kSmallestNormal) {
    const u32 odd = (magnitude_bits >> kShift) & 1u;
    const u32 rounded = magnitude_bits + ((1u << (kShift - 1)) - 1u) + odd;
    return (rounded >> kShift) - (static_cast<u32>(127 - kBias) << kMantissaBits);
  }
  // Why: adding this power of two moves the unit of the subnormals to a float's last bit, so that
  // the addition itself rounds, to even at ties.
  const float magic = bits_to_float(static_cast<u32>(127 + 1 - kBias - kMantissaBits + 23) << 23);
  return float_to_bits(bits_to_float(magnitude_bits) + magic) - float_to_bits(magic);
}

// ---- E4M3 (float8_e4m3fn): bias 7, largest 448, NaN is 0x7F and 0xFF ----

inline constexpr float kE4m3Max = 448.0f;

DG_HD constexpr float e4m3_to_float(u8 code) {
  const u32 sign = static_cast<u32>(code & 0x80u) << 24;
  if ((code & 0x7Fu) == 0x7Fu) return bits_to_float(sign | kFloatNan);
  return bits_to_float(sign | float_to_bits(decode_magnitude<3, 7>(code & 0x7Fu)));
}

// As torch does: what would round above 448 becomes NaN.
DG_HD constexpr u8 float_to_e4m3(float x) {
  const u32 bits = float_to_bits(x);
  const u8 sign = static_cast<u8>((bits >> 24) & 0x80u);
  const u32 magnitude = bits & 0x7FFFFFFFu;
  if (magnitude >= 0x43F00000u) return static_cast<u8>(sign | 0x7Fu);  // 480 and up, inf, NaN
  const u32 code = encode_magnitude<3, 7>(magnitude);
  return static_cast<u8>(sign | (code > 0x7Fu ? 0x7Fu : code));
}

// As quantisers want it: the largest value stands for all above; NaN stays NaN.
DG_HD constexpr u8 float_to_e4m3_saturating(float x) {
  const u32 bits = float_to_bits(x);
  const u32 magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<u8>(((bits >> 24) & 0x80u) | 0x7Fu);
  if (magnitude >= 0x43E00000u) return static_cast<u8>(((bits >> 24) & 0x80u) | 0x7Eu);
  return float_to_e4m3(x);
}

// ---- E2M1: bias 1, values 0 0.5 1 1.5 2 3 4 6, two per byte, the even index in the low nibble
// ----

inline constexpr float kE2m1Max = 6.0f;

// Code 8 is never produced and reads as +0.
DG_HD constexpr float e2m1_to_float(u8 code) {
  const u32 magnitude = code & 7u;
  const u32 sign = magnitude != 0 ? static_cast<u32>(code & 8u) << 28 : 0u;
  return bits_to_float(sign | float_to_bits(decode_magnitude<1, 1>(magnitude)));
}

enum class Ties { ToEven, TowardZero };

// Saturates at 6; NaN has no code and becomes 6 with its sign.
DG_HD constexpr u8 float_to_e2m1(float x, Ties ties = Ties::ToEven) {
  const u32 bits = float_to_bits(x);
  const u32 magnitude = bits & 0x7FFFFFFFu;
  u32 code = 7;
  if (magnitude < 0x40A00000u) {  // below 5, the midpoint of 4 and 6
    code = encode_magnitude<1, 1>(magnitude);
    // Why: ties to even round up where the lower code is odd; there the other rule takes one less.
    if (ties == Ties::TowardZero && code != 0) {
      const float above = decode_magnitude<1, 1>(code), below = decode_magnitude<1, 1>(code - 1);
      if (bits_to_float(magnitude) * 2.0f == above + below) code -= 1;
    }
  } else if (magnitude == 0x40A00000u) {
    code = 6;
  }
  return code == 0 ? u8{0} : static_cast<u8>(((bits >> 28) & 8u) | code);
}

// ---- UE8M0: a power of two by its biased exponent; 0xFF is NaN, 0 is 2^-127 ----

DG_HD constexpr float ue8m0_to_float(u8 code) {
  if (code == 0xFFu) return bits_to_float(kFloatNan);
  return bits_to_float(code == 0 ? 0x00400000u : static_cast<u32>(code) << 23);
}

DG_HD constexpr bool is_ue8m0(float x) {
  const u32 bits = float_to_bits(x);
  return (bits & 0x807FFFFFu) == 0 ? bits != 0 && bits != 0x7F800000u : bits == 0x00400000u;
}

// The exponent field: exact for powers of two, towards zero in magnitude otherwise.
DG_HD constexpr u8 float_to_ue8m0(float x) {
  return static_cast<u8>((float_to_bits(x) >> 23) & 0xFFu);
}

// Smallest power of two that is >= x, for a finite x > 0.
DG_HD constexpr u8 ceil_to_ue8m0(float x) {
  const u32 bits = float_to_bits(x);
  if (bits <= 0x00400000u) return 0;
  return static_cast<u8>((bits >> 23) + ((bits & 0x007FFFFFu) != 0 ? 1u : 0u));
}

// ---- UE4M3: E4M3 without its sign, the scale of 16 E2M1 values ----

DG_HD constexpr float ue4m3_to_float(u8 code) { return e4m3_to_float(code & 0x7Fu); }

// Negative values have no code and become 0.
DG_HD constexpr u8 float_to_ue4m3(float x) {
  const u8 code = float_to_e4m3_saturating(x);
  return (code & 0x80u) != 0 && (code & 0x7Fu) != 0x7Fu ? u8{0} : static_cast<u8>(code & 0x7Fu);
}

}  // namespace deep_gemm::numeric
