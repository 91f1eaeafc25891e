// A float as the tensor cores' TF32 format keeps it: 11 significant bits.
//   float x = numeric::round_tf32(1.0f + 0x1p-11f);      // 1 + 0x1p-10: a tie, away from zero
// Nearest, ties away from zero; what is not finite stays. Host C++ and device code share it.
#pragma once

#include <deep_gemm/numeric/float_formats.h>

namespace deep_gemm::numeric {

DG_HD constexpr u32 round_tf32_bits(u32 bits) {
  const bool is_finite = (bits & 0x7F800000u) != 0x7F800000u;
  return is_finite ? (bits + 0x1000u) & 0xFFFFE000u : bits;
}

DG_HD constexpr float round_tf32(float x) {
  return bits_to_float(round_tf32_bits(float_to_bits(x)));
}

}  // namespace deep_gemm::numeric
