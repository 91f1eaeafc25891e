#include <deep_gemm/numeric/tf32_round.h>

#include <cmath>
#include <limits>

#include <tests/support/check.hpp>

using deep_gemm::numeric::float_to_bits;
using deep_gemm::numeric::round_tf32;

TEST(Tf32Round, TiesGoAwayFromZero) {
  CHECK_EQ(round_tf32(1.0f + 0x1p-11f), 1.0f + 0x1p-10f);
  CHECK_EQ(round_tf32(-1.0f - 0x1p-11f), -1.0f - 0x1p-10f);
  CHECK_EQ(round_tf32(1.0f + 0x1.ffcp-12f), 1.0f);
}

TEST(Tf32Round, ValuesOfElevenBitsStay) {
  for (int i = 1024; i < 2048; ++i) {
    for (const int exponent : {-140, -126, -10, 0, 100}) {
      const float x = std::ldexp(static_cast<float>(i), exponent - 10);
      if (std::isfinite(x) && exponent > -126) CHECK_EQ(round_tf32(x), x);
    }
  }
}

TEST(Tf32Round, WhatIsNotFiniteStays) {
  const float inf = std::numeric_limits<float>::infinity();
  CHECK_EQ(round_tf32(inf), inf);
  CHECK_EQ(round_tf32(-inf), -inf);
  for (const unsigned bits : {0x7FFFFFFFu, 0x7F800001u, 0xFFC00000u})
    CHECK_EQ(float_to_bits(round_tf32(__builtin_bit_cast(float, bits))), bits);
  CHECK_EQ(round_tf32(std::numeric_limits<float>::max()), inf);
}

CHECK_MAIN()
