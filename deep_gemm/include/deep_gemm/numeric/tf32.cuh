// TF32 as the sum of two bf16 values.
//   numeric::Bf16Pair p = numeric::split_tf32(bits);   // p.high + p.low == the TF32-rounded value,
//   exactly
// The two terms come as fp32 bits whose lower halves are zero. Rounding is to nearest, ties away
// from zero. A value that is not finite stays in the high term with a low term of zero. Leaves out:
// packing and where the halves go.
#pragma once

#include <deep_gemm/ptx/types.cuh>

namespace deep_gemm::numeric {

struct Bf16Pair {
  u32 high, low;
};

DG_DEVICE bool finite(u32 bits) { return (~bits & 0x7F800000u) != 0; }

// TF32 keeps 11 significant bits: the first 8 are a bf16 value, the other 3 another.
DG_DEVICE Bf16Pair split_finite_tf32(u32 bits) {
  const u32 rounded = (bits + 0x1000u) & 0xFFFFE000u;
  const u32 high = rounded & 0xFFFF0000u;
  return {high, __float_as_uint(__uint_as_float(rounded) - __uint_as_float(high))};
}
DG_DEVICE Bf16Pair split_tf32(u32 bits) {
  const Bf16Pair pair = split_finite_tf32(bits);
  if (!finite(bits)) return {bits, 0u};
  return {pair.high, finite(pair.high) ? pair.low : 0u};  // the largest values round to infinity
}

// Two values' upper halves in one word, the first in the low half.
DG_DEVICE u32 pack_high_halves(u32 first, u32 second) { return __byte_perm(first, second, 0x7632); }

// The squares of two packed bf16 values, added to two sums.
DG_DEVICE void add_squares_bf16(u32 pair, float& first, float& second) {
  const float low = __uint_as_float(pair << 16), high = __uint_as_float(pair & 0xFFFF0000u);
  first = __fmaf_rn(low, low, first);
  second = __fmaf_rn(high, high, second);
}

}  // namespace deep_gemm::numeric
