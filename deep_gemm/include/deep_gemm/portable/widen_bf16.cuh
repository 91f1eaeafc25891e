// Small formats to pairs of bf16, exactly, in registers: eight elements at a time.
//   u32 pairs[4];  portable::widen_e4m3(words, pairs);   portable::widen_e2m1(word, pairs);
//   portable::scale_ue8m0(pairs, exponent);               // times 2^(exponent - 127)
// Every E4M3 and E2M1 value, and its product with a power of two that bf16 can hold, is a bf16.
// Leaves out: where the bytes come from.
#pragma once

#include <deep_gemm/ptx/bf16_pairs.cuh>

namespace deep_gemm::portable {

// The fields of a code, moved to bf16's place, read as its value times a power of two.
inline constexpr u32 kE4m3Factor = 0x7B807B80u;  // 2^120, the difference of the biases
inline constexpr u32 kE2m1Factor = 0x7E807E80u;  // 2^126

DG_DEVICE u32 widen_e4m3_pair(u32 codes) {  // in the upper bytes of both halves
  const u32 bits = (codes & 0x80008000u) | ((codes & 0x7F007F00u) >> 4);
  return ptx::scale_bf16x2(bits, kE4m3Factor);
}

DG_DEVICE void widen_e4m3(const u32 (&words)[2], u32 (&pairs)[4]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    pairs[2 * i] = widen_e4m3_pair(__byte_perm(words[i], 0, 0x1404));
    pairs[2 * i + 1] = widen_e4m3_pair(__byte_perm(words[i], 0, 0x3424));
  }
  // A byte is NaN where its lower seven bits are all set: the sum carries into its top bit.
  const u32 nans = (((words[0] & 0x7F7F7F7Fu) + 0x01010101u) & 0x80808080u) |
                   (((words[1] & 0x7F7F7F7Fu) + 0x01010101u) & 0x80808080u);
  if (nans != 0) [[unlikely]] {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if ((words[i / 4] >> (8 * (i % 4)) & 0x7Fu) == 0x7Fu)
        pairs[i / 2] |= 0x7FC0u << (16 * (i % 2));
    }
  }
}

DG_DEVICE void widen_e2m1(u32 word, u32 (&pairs)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const u32 codes = (word >> (8 * i) & 0xFu) | (word >> (8 * i + 4) & 0xFu) << 16;
    const u32 bits = ((codes & 0x00080008u) << 12) | ((codes & 0x00070007u) << 6);
    pairs[i] = ptx::scale_bf16x2(bits, kE2m1Factor);
  }
}

// 0xFF is NaN, 0 is 2^-127, which bf16 has as a subnormal.
DG_DEVICE void scale_ue8m0(u32 (&pairs)[4], u32 exponent) {
  const u32 factor = exponent == 0xFFu ? 0x7FC0u : exponent == 0 ? 0x0040u : exponent << 7;
#pragma unroll
  for (int i = 0; i < 4; ++i) pairs[i] = ptx::scale_bf16x2(pairs[i], factor * 0x00010001u);
}

}  // namespace deep_gemm::portable
