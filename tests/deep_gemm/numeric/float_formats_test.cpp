#include <deep_gemm/numeric/float_formats.h>

#include <cmath>
#include <limits>

#include <deep_gemm/host/decode.hpp>
#include <tests/support/check.hpp>

using namespace deep_gemm;
namespace num = deep_gemm::numeric;

namespace {

bool same(float x, float y) {
  return (std::isnan(x) && std::isnan(y)) || num::float_to_bits(x) == num::float_to_bits(y);
}

// By the definition: sign, exponent, mantissa.
float by_formula(int code, int exponent_bits, int mantissa_bits, int bias) {
  const int mantissa = code & ((1 << mantissa_bits) - 1);
  const int exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double sign = (code >> (mantissa_bits + exponent_bits)) & 1 ? -1.0 : 1.0;
  const double fraction = static_cast<double>(mantissa) / (1 << mantissa_bits);
  const double value =
      exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1.0 + fraction, exponent - bias);
  return static_cast<float>(sign * value);
}

// The nearest code by search, even at ties.
template <class Decode>
int nearest(float x, int num_codes, Decode decode) {
  int best = 0;
  for (int code = 1; code < num_codes; ++code) {
    const double now = std::fabs(static_cast<double>(decode(code)) - x);
    const double was = std::fabs(static_cast<double>(decode(best)) - x);
    if (now < was || (now == was && code % 2 == 0)) best = code;
  }
  return best;
}

}  // namespace

TEST(FloatFormats, EveryE4m3CodeHasTheValueOfItsDefinition) {
  for (int code = 0; code < 256; ++code) {
    const float got = num::e4m3_to_float(static_cast<num::u8>(code));
    if ((code & 0x7F) == 0x7F) {
      CHECK(std::isnan(got));
    } else {
      CHECK(same(got, by_formula(code, 4, 3, 7)));
      CHECK_EQ(static_cast<int>(num::float_to_e4m3(got)), code);
    }
  }
}

TEST(FloatFormats, EveryBf16IsEncodedToTheNearestE4m3) {
  const auto decode = [](int code) { return num::e4m3_to_float(static_cast<num::u8>(code)); };
  for (int high = 0; high < 0x7F80; ++high) {
    const float x = num::bf16_to_float(static_cast<num::u16>(high));
    const int got = num::float_to_e4m3(x);
    if (x > 464.0f) {
      CHECK_EQ(got, 0x7F);
      CHECK_EQ(static_cast<int>(num::float_to_e4m3_saturating(x)), 0x7E);
    } else {
      CHECK_EQ(got, nearest(x, 0x7F, decode));
    }
    CHECK_EQ(static_cast<int>(num::float_to_e4m3(-x)), got | 0x80);
  }
}

TEST(FloatFormats, EveryE2m1CodeHasTheValueOfItsTable) {
  constexpr float kValues[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (int code = 0; code < 16; ++code) {
    const float want = code < 8 ? kValues[code] : code == 8 ? 0.0f : -kValues[code - 8];
    CHECK(same(num::e2m1_to_float(static_cast<num::u8>(code)), want));
  }
}

TEST(FloatFormats, E2m1TiesGoEitherWayAsAsked) {
  constexpr float kTies[] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f, 0.0f};
  constexpr int kEven[] = {0, 2, 2, 4, 4, 6, 6, 0}, kTowardZero[] = {0, 1, 2, 3, 4, 5, 6, 0};
  for (int i = 0; i < 8; ++i) {
    CHECK_EQ(static_cast<int>(num::float_to_e2m1(kTies[i])), kEven[i]);
    CHECK_EQ(static_cast<int>(num::float_to_e2m1(kTies[i], num::Ties::TowardZero)), kTowardZero[i]);
  }
  CHECK_EQ(static_cast<int>(num::float_to_e2m1(1e9f)), 7);
  CHECK_EQ(static_cast<int>(num::float_to_e2m1(-0.1f)), 0);
  CHECK_EQ(static_cast<int>(num::float_to_e2m1(-1.5f)), 11);
}

TEST(FloatFormats, EveryUe8m0CodeIsItsPowerOfTwo) {
  for (int code = 0; code < 255; ++code) {
    const float x = num::ue8m0_to_float(static_cast<num::u8>(code));
    CHECK(same(x, static_cast<float>(std::ldexp(1.0, code - 127))));
    CHECK(num::is_ue8m0(x));
    CHECK_EQ(static_cast<int>(num::float_to_ue8m0(x)), code);
    CHECK_EQ(static_cast<int>(num::ceil_to_ue8m0(x)), code);
  }
  CHECK(std::isnan(num::ue8m0_to_float(255)));
  CHECK(!num::is_ue8m0(0.0f) && !num::is_ue8m0(-2.0f) && !num::is_ue8m0(3.0f));
  CHECK_EQ(static_cast<int>(num::ceil_to_ue8m0(1.5f)), 128);
}

TEST(FloatFormats, Ue4m3IsE4m3WithoutSign) {
  for (int code = 0; code < 127; ++code) {
    CHECK(same(num::ue4m3_to_float(static_cast<num::u8>(code)), by_formula(code, 4, 3, 7)));
    CHECK_EQ(static_cast<int>(num::float_to_ue4m3(by_formula(code, 4, 3, 7))), code);
  }
  CHECK_EQ(static_cast<int>(num::float_to_ue4m3(-1.0f)), 0);
}

TEST(FloatFormats, EveryBf16ComesBackAndFloatsRoundToEven) {
  for (int code = 0; code < 65536; ++code) {
    const float x = num::bf16_to_float(static_cast<num::u16>(code));
    if (!std::isnan(x)) CHECK_EQ(static_cast<int>(num::float_to_bf16(x)), code);
  }
  CHECK_EQ(static_cast<int>(num::float_to_bf16(num::bits_to_float(0x3F808000u))), 0x3F80);
  CHECK_EQ(static_cast<int>(num::float_to_bf16(num::bits_to_float(0x3F818000u))), 0x3F82);
  CHECK_EQ(static_cast<int>(num::float_to_bf16(std::numeric_limits<float>::quiet_NaN())), 0x7FC0);
}

TEST(HostDecode, VectorsHaveTheValuesOfTheScalarFormats) {
  for (int code = 0; code < 256; ++code) {
    std::uint8_t bytes[16];
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(code);
    const auto fp8 = host::Decode<ElementType::E4m3>::load8(bytes);
    const auto fp4 = host::Decode<ElementType::E2m1>::load8(bytes);
    const auto bf16 = host::Decode<ElementType::Bf16>::load8(bytes);
    for (int i = 0; i < 8; ++i) {
      const int nibble = i % 2 == 0 ? code & 15 : code >> 4;
      CHECK(same(fp8[i], num::e4m3_to_float(static_cast<num::u8>(code))));
      CHECK(same(fp4[i], num::e2m1_to_float(static_cast<num::u8>(nibble))));
      CHECK(same(bf16[i], num::bf16_to_float(static_cast<num::u16>(code << 8 | code))));
    }
  }
}

CHECK_MAIN()
