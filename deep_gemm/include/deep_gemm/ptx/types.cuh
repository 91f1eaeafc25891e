// Fixed-width names for device code that includes no system header (NVRTC has none).
//   u32 word = 0;  u64 address = 0;
// Leaves out: numeric formats (layout/, numeric/) and anything the host sees (abi/).
#pragma once

#define DG_DEVICE __device__ __forceinline__

namespace deep_gemm {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;

static_assert(sizeof(u32) == 4 && sizeof(u64) == 8 && sizeof(u16) == 2);

}  // namespace deep_gemm
