// Warpgroup matrix instructions (wgmma), m64, fp32 accumulators, B from shared memory. sm_90a.
//   float acc[64];                                     // n = 128: N / 2 registers a thread
//   ptx::wgmma_fence();
//   ptx::Wgmma<ptx::MmaType::E4M3, 128>::ss(acc, a_desc, b_desc, accumulate);   // A in shared
//   memory ptx::Wgmma<ptx::MmaType::BF16, 128>::rs(acc, a_regs, b_desc, accumulate);   // A in
//   registers ptx::wgmma_commit(); ptx::wgmma_wait<0>(); ptx::wgmma_use(acc);
// Thread t of the warpgroup holds rows 16 * (t / 32) + t % 32 / 4 (+ 8), columns 8 * j + 2 * (t %
// 4) (+ 1): acc[4j], acc[4j+1] are the first row's, acc[4j+2], acc[4j+3] the second's. Leaves out:
// descriptors and swizzles (layout/smem_tile.cuh), which k slices a tile needs (sm90/).
#pragma once

#include <deep_gemm/ptx/types.cuh>

namespace deep_gemm::ptx {

// wgmma.fence: registers and shared memory written so far are visible to the next wgmma.
DG_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// wgmma.commit_group
DG_DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// wgmma.wait_group
template <int Pending>
DG_DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

// No instruction: tells the compiler that these registers change here, so that no read or write of
// them moves across a wait.
template <int Count>
DG_DEVICE void wgmma_use(float (&d)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// No instruction: this value is first used here, not earlier (the compiler would hoist its use
// between wgmma instructions, where waiting for it holds them up).
DG_DEVICE void wgmma_hold(float& value) { asm volatile("" : "+f"(value)); }

// Operand types: k of one instruction is 32 bytes: 32 E4M3, 16 BF16, 8 TF32.
enum class MmaType { E4M3, BF16, TF32 };

// wgmma.mma_async.m64nNk(32 bytes).  ss: A and B by descriptor;  rs: A in four registers.
// accumulate false overwrites acc.  BF16 takes TransA / TransB = 1 for MN-major operands (ss), B
// only (rs).
template <MmaType Type, int N>
struct Wgmma;

// The text of the register lists: DG_WGMMA_TEXT_n names %0 .. %(n/2-1), DG_WGMMA_REGS_n binds them.
#define DG_WGMMA_QUAD(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define DG_WGMMA_TEXT_8 "%0, %1, %2, %3"
#define DG_WGMMA_REGS_8 DG_WGMMA_QUAD(0)
#define DG_WGMMA_TEXT_16 DG_WGMMA_TEXT_8 ", %4, %5, %6, %7"
#define DG_WGMMA_REGS_16 DG_WGMMA_REGS_8, DG_WGMMA_QUAD(4)
#define DG_WGMMA_TEXT_24 DG_WGMMA_TEXT_16 ", %8, %9, %10, %11"
#define DG_WGMMA_REGS_24 DG_WGMMA_REGS_16, DG_WGMMA_QUAD(8)
#define DG_WGMMA_TEXT_32 DG_WGMMA_TEXT_24 ", %12, %13, %14, %15"
#define DG_WGMMA_REGS_32 DG_WGMMA_REGS_24, DG_WGMMA_QUAD(12)
#define DG_WGMMA_TEXT_40 DG_WGMMA_TEXT_32 ", %16, %17, %18, %19"
#define DG_WGMMA_REGS_40 DG_WGMMA_REGS_32, DG_WGMMA_QUAD(16)
#define DG_WGMMA_TEXT_48 DG_WGMMA_TEXT_40 ", %20, %21, %22, %23"
#define DG_WGMMA_REGS_48 DG_WGMMA_REGS_40, DG_WGMMA_QUAD(20)
#define DG_WGMMA_TEXT_56 DG_WGMMA_TEXT_48 ", %24, %25, %26, %27"
#define DG_WGMMA_REGS_56 DG_WGMMA_REGS_48, DG_WGMMA_QUAD(24)
#define DG_WGMMA_TEXT_64 DG_WGMMA_TEXT_56 ", %28, %29, %30, %31"
#define DG_WGMMA_REGS_64 DG_WGMMA_REGS_56, DG_WGMMA_QUAD(28)
#define DG_WGMMA_TEXT_72 DG_WGMMA_TEXT_64 ", %32, %33, %34, %35"
#define DG_WGMMA_REGS_72 DG_WGMMA_REGS_64, DG_WGMMA_QUAD(32)
#define DG_WGMMA_TEXT_80 DG_WGMMA_TEXT_72 ", %36, %37, %38, %39"
#define DG_WGMMA_REGS_80 DG_WGMMA_REGS_72, DG_WGMMA_QUAD(36)
#define DG_WGMMA_TEXT_88 DG_WGMMA_TEXT_80 ", %40, %41, %42, %43"
#define DG_WGMMA_REGS_88 DG_WGMMA_REGS_80, DG_WGMMA_QUAD(40)
#define DG_WGMMA_TEXT_96 DG_WGMMA_TEXT_88 ", %44, %45, %46, %47"
#define DG_WGMMA_REGS_96 DG_WGMMA_REGS_88, DG_WGMMA_QUAD(44)
#define DG_WGMMA_TEXT_104 DG_WGMMA_TEXT_96 ", %48, %49, %50, %51"
#define DG_WGMMA_REGS_104 DG_WGMMA_REGS_96, DG_WGMMA_QUAD(48)
#define DG_WGMMA_TEXT_112 DG_WGMMA_TEXT_104 ", %52, %53, %54, %55"
#define DG_WGMMA_REGS_112 DG_WGMMA_REGS_104, DG_WGMMA_QUAD(52)
#define DG_WGMMA_TEXT_120 DG_WGMMA_TEXT_112 ", %56, %57, %58, %59"
#define DG_WGMMA_REGS_120 DG_WGMMA_REGS_112, DG_WGMMA_QUAD(56)
#define DG_WGMMA_TEXT_128 DG_WGMMA_TEXT_120 ", %60, %61, %62, %63"
#define DG_WGMMA_REGS_128 DG_WGMMA_REGS_120, DG_WGMMA_QUAD(60)
#define DG_WGMMA_TEXT_136 DG_WGMMA_TEXT_128 ", %64, %65, %66, %67"
#define DG_WGMMA_REGS_136 DG_WGMMA_REGS_128, DG_WGMMA_QUAD(64)
#define DG_WGMMA_TEXT_144 DG_WGMMA_TEXT_136 ", %68, %69, %70, %71"
#define DG_WGMMA_REGS_144 DG_WGMMA_REGS_136, DG_WGMMA_QUAD(68)
#define DG_WGMMA_TEXT_152 DG_WGMMA_TEXT_144 ", %72, %73, %74, %75"
#define DG_WGMMA_REGS_152 DG_WGMMA_REGS_144, DG_WGMMA_QUAD(72)
#define DG_WGMMA_TEXT_160 DG_WGMMA_TEXT_152 ", %76, %77, %78, %79"
#define DG_WGMMA_REGS_160 DG_WGMMA_REGS_152, DG_WGMMA_QUAD(76)
#define DG_WGMMA_TEXT_168 DG_WGMMA_TEXT_160 ", %80, %81, %82, %83"
#define DG_WGMMA_REGS_168 DG_WGMMA_REGS_160, DG_WGMMA_QUAD(80)
#define DG_WGMMA_TEXT_176 DG_WGMMA_TEXT_168 ", %84, %85, %86, %87"
#define DG_WGMMA_REGS_176 DG_WGMMA_REGS_168, DG_WGMMA_QUAD(84)
#define DG_WGMMA_TEXT_184 DG_WGMMA_TEXT_176 ", %88, %89, %90, %91"
#define DG_WGMMA_REGS_184 DG_WGMMA_REGS_176, DG_WGMMA_QUAD(88)
#define DG_WGMMA_TEXT_192 DG_WGMMA_TEXT_184 ", %92, %93, %94, %95"
#define DG_WGMMA_REGS_192 DG_WGMMA_REGS_184, DG_WGMMA_QUAD(92)
#define DG_WGMMA_TEXT_200 DG_WGMMA_TEXT_192 ", %96, %97, %98, %99"
#define DG_WGMMA_REGS_200 DG_WGMMA_REGS_192, DG_WGMMA_QUAD(96)
#define DG_WGMMA_TEXT_208 DG_WGMMA_TEXT_200 ", %100, %101, %102, %103"
#define DG_WGMMA_REGS_208 DG_WGMMA_REGS_200, DG_WGMMA_QUAD(100)
#define DG_WGMMA_TEXT_216 DG_WGMMA_TEXT_208 ", %104, %105, %106, %107"
#define DG_WGMMA_REGS_216 DG_WGMMA_REGS_208, DG_WGMMA_QUAD(104)
#define DG_WGMMA_TEXT_224 DG_WGMMA_TEXT_216 ", %108, %109, %110, %111"
#define DG_WGMMA_REGS_224 DG_WGMMA_REGS_216, DG_WGMMA_QUAD(108)
#define DG_WGMMA_TEXT_232 DG_WGMMA_TEXT_224 ", %112, %113, %114, %115"
#define DG_WGMMA_REGS_232 DG_WGMMA_REGS_224, DG_WGMMA_QUAD(112)
#define DG_WGMMA_TEXT_240 DG_WGMMA_TEXT_232 ", %116, %117, %118, %119"
#define DG_WGMMA_REGS_240 DG_WGMMA_REGS_232, DG_WGMMA_QUAD(116)
#define DG_WGMMA_TEXT_248 DG_WGMMA_TEXT_240 ", %120, %121, %122, %123"
#define DG_WGMMA_REGS_248 DG_WGMMA_REGS_240, DG_WGMMA_QUAD(120)
#define DG_WGMMA_TEXT_256 DG_WGMMA_TEXT_248 ", %124, %125, %126, %127"
#define DG_WGMMA_REGS_256 DG_WGMMA_REGS_248, DG_WGMMA_QUAD(124)

// N: columns; I0 ..: operand numbers after the N / 2 accumulators.
#define DG_WGMMA_PLAIN(TYPE, SHAPE, N, I0, I1, I2, I3, I4, I5)                               \
  template <>                                                                                \
  struct Wgmma<MmaType::TYPE, N> {                                                           \
    DG_DEVICE static void ss(float (&d)[N / 2], u64 a, u64 b, bool accumulate) {             \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #I2                                  \
                   ", 0;\n"                                                                  \
                   "wgmma.mma_async.sync.aligned.m64n" #N SHAPE " {" DG_WGMMA_TEXT_##N       \
                   "}, %" #I0 ", %" #I1 ", p, 1, 1;\n}\n"                                    \
                   : DG_WGMMA_REGS_##N                                                       \
                   : "l"(a), "l"(b), "r"(static_cast<u32>(accumulate)));                     \
    }                                                                                        \
    DG_DEVICE static void rs(float (&d)[N / 2], const u32 (&a)[4], u64 b, bool accumulate) { \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #I5                                  \
                   ", 0;\n"                                                                  \
                   "wgmma.mma_async.sync.aligned.m64n" #N SHAPE " {" DG_WGMMA_TEXT_##N       \
                   "}, {%" #I0 ", %" #I1 ", %" #I2 ", %" #I3 "}, %" #I4 ", p, 1, 1;\n}\n"    \
                   : DG_WGMMA_REGS_##N                                                       \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b),                     \
                     "r"(static_cast<u32>(accumulate)));                                     \
    }                                                                                        \
  };
#define DG_WGMMA_MAJORS(TYPE, SHAPE, N, I0, I1, I2, I3, I4, I5, I6)                                \
  template <>                                                                                      \
  struct Wgmma<MmaType::TYPE, N> {                                                                 \
    template <int TransA = 0, int TransB = 0>                                                      \
    DG_DEVICE static void ss(float (&d)[N / 2], u64 a, u64 b, bool accumulate) {                   \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #I2                                        \
                   ", 0;\n"                                                                        \
                   "wgmma.mma_async.sync.aligned.m64n" #N SHAPE " {" DG_WGMMA_TEXT_##N             \
                   "}, %" #I0 ", %" #I1 ", p, 1, 1, %" #I3 ", %" #I4 ";\n}\n"                      \
                   : DG_WGMMA_REGS_##N                                                             \
                   : "l"(a), "l"(b), "r"(static_cast<u32>(accumulate)), "n"(TransA), "n"(TransB)); \
    }                                                                                              \
    template <int TransB = 0>                                                                      \
    DG_DEVICE static void rs(float (&d)[N / 2], const u32 (&a)[4], u64 b, bool accumulate) {       \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #I5                                        \
                   ", 0;\n"                                                                        \
                   "wgmma.mma_async.sync.aligned.m64n" #N SHAPE " {" DG_WGMMA_TEXT_##N             \
                   "}, {%" #I0 ", %" #I1 ", %" #I2 ", %" #I3 "}, %" #I4 ", p, 1, 1, %" #I6         \
                   ";\n}\n"                                                                        \
                   : DG_WGMMA_REGS_##N                                                             \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b),                           \
                     "r"(static_cast<u32>(accumulate)), "n"(TransB));                              \
    }                                                                                              \
  };
#define DG_WGMMA_ALL(N, I0, I1, I2, I3, I4, I5, I6)                    \
  DG_WGMMA_PLAIN(E4M3, "k32.f32.e4m3.e4m3", N, I0, I1, I2, I3, I4, I5) \
  DG_WGMMA_PLAIN(TF32, "k8.f32.tf32.tf32", N, I0, I1, I2, I3, I4, I5)  \
  DG_WGMMA_MAJORS(BF16, "k16.f32.bf16.bf16", N, I0, I1, I2, I3, I4, I5, I6)

DG_WGMMA_ALL(8, 4, 5, 6, 7, 8, 9, 10)
DG_WGMMA_ALL(16, 8, 9, 10, 11, 12, 13, 14)
DG_WGMMA_ALL(24, 12, 13, 14, 15, 16, 17, 18)
DG_WGMMA_ALL(32, 16, 17, 18, 19, 20, 21, 22)
DG_WGMMA_ALL(40, 20, 21, 22, 23, 24, 25, 26)
DG_WGMMA_ALL(48, 24, 25, 26, 27, 28, 29, 30)
DG_WGMMA_ALL(56, 28, 29, 30, 31, 32, 33, 34)
DG_WGMMA_ALL(64, 32, 33, 34, 35, 36, 37, 38)
DG_WGMMA_ALL(72, 36, 37, 38, 39, 40, 41, 42)
DG_WGMMA_ALL(80, 40, 41, 42, 43, 44, 45, 46)
DG_WGMMA_ALL(88, 44, 45, 46, 47, 48, 49, 50)
DG_WGMMA_ALL(96, 48, 49, 50, 51, 52, 53, 54)
DG_WGMMA_ALL(104, 52, 53, 54, 55, 56, 57, 58)
DG_WGMMA_ALL(112, 56, 57, 58, 59, 60, 61, 62)
DG_WGMMA_ALL(120, 60, 61, 62, 63, 64, 65, 66)
DG_WGMMA_ALL(128, 64, 65, 66, 67, 68, 69, 70)
DG_WGMMA_ALL(136, 68, 69, 70, 71, 72, 73, 74)
DG_WGMMA_ALL(144, 72, 73, 74, 75, 76, 77, 78)
DG_WGMMA_ALL(152, 76, 77, 78, 79, 80, 81, 82)
DG_WGMMA_ALL(160, 80, 81, 82, 83, 84, 85, 86)
DG_WGMMA_ALL(168, 84, 85, 86, 87, 88, 89, 90)
DG_WGMMA_ALL(176, 88, 89, 90, 91, 92, 93, 94)
DG_WGMMA_ALL(184, 92, 93, 94, 95, 96, 97, 98)
DG_WGMMA_ALL(192, 96, 97, 98, 99, 100, 101, 102)
DG_WGMMA_ALL(200, 100, 101, 102, 103, 104, 105, 106)
DG_WGMMA_ALL(208, 104, 105, 106, 107, 108, 109, 110)
DG_WGMMA_ALL(216, 108, 109, 110, 111, 112, 113, 114)
DG_WGMMA_ALL(224, 112, 113, 114, 115, 116, 117, 118)
DG_WGMMA_ALL(232, 116, 117, 118, 119, 120, 121, 122)
DG_WGMMA_ALL(240, 120, 121, 122, 123, 124, 125, 126)
DG_WGMMA_ALL(248, 124, 125, 126, 127, 128, 129, 130)
DG_WGMMA_ALL(256, 128, 129, 130, 131, 132, 133, 134)

}  // namespace deep_gemm::ptx
