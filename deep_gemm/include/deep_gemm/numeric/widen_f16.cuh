// Pairs of E4M3 and E2M1 values to pairs of fp16, exactly.
//   u32 lo, hi;  numeric::widen_e4m3(word, lo, hi);   // bytes 0, 1 and 2, 3
// Why fp16 and not bf16: it holds both formats, subnormals too, and sm_89 converts to it.
// Leaves out: single values (float_formats.h).
#pragma once

#include <deep_gemm/ptx/types.cuh>

namespace deep_gemm::numeric {

// mul.f16x2: exact here, as one factor is a power of two and nothing overflows.
DG_DEVICE deep_gemm::u32 multiply_f16x2(deep_gemm::u32 x, deep_gemm::u32 y) {
  deep_gemm::u32 v;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(v) : "r"(x), "r"(y));
  return v;
}

// Bytes of two E4M3 values in bits 0-7 and 16-23. What lies elsewhere is ignored.
DG_DEVICE deep_gemm::u32 widen_e4m3_pair(deep_gemm::u32 x) {
  constexpr deep_gemm::u32 kTwoTo8 = 0x5C005C00;  // fp16's bias is 15, E4M3's is 7
  return multiply_f16x2(((x & 0x007F007Fu) << 7) | ((x & 0x00800080u) << 8), kTwoTo8);
}

DG_DEVICE void widen_e4m3(deep_gemm::u32 word, deep_gemm::u32& low, deep_gemm::u32& high) {
#if __CUDA_ARCH__ >= 890
  asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %2;\n"
      "cvt.rn.f16x2.e4m3x2 %0, l;\ncvt.rn.f16x2.e4m3x2 %1, h;\n}"
      : "=r"(low), "=r"(high)
      : "r"(word));
#else
  const deep_gemm::u32 first = __byte_perm(word, 0, 0x4140);
  const deep_gemm::u32 second = __byte_perm(word, 0, 0x4342);
  low = widen_e4m3_pair(first);
  high = widen_e4m3_pair(second);
  if ((((word & 0x7F7F7F7Fu) + 0x01010101u) & 0x80808080u) != 0) {  // a NaN among the four
    const auto nan_bits = [](deep_gemm::u32 x) {
      return (((x & 0x007F007Fu) + 0x00010001u) & 0x00800080u) / 0x80u * 0x7FFFu;
    };
    low |= nan_bits(first);
    high |= nan_bits(second);
  }
#endif
}

// Eight E2M1 values, the even ones in low nibbles.
DG_DEVICE void widen_e2m1(deep_gemm::u32 word, deep_gemm::u32 (&out)[4]) {
  constexpr deep_gemm::u32 kTwoTo14 = 0x74007400;  // fp16's bias is 15, E2M1's is 1
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const deep_gemm::u32 byte = (word >> (8 * i)) & 0xFFu;
    const deep_gemm::u32 x = byte | (byte << 12);
    out[i] = multiply_f16x2(((x & 0x00070007u) << 9) | ((x & 0x00080008u) << 12), kTwoTo14);
  }
}

}  // namespace deep_gemm::numeric
