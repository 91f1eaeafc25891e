// Warpgroup matrix instructions (wgmma), m64, fp32 accumulators, A and B from shared memory.
// sm_90a.
//   float acc[64];                                     // n = 128: N / 2 registers a thread
//   ptx::wgmma_fence();
//   ptx::Wgmma<ptx::MmaType::E4M3, 128>::ss(acc, a_desc, b_desc, accumulate);
//   ptx::wgmma_commit(); ptx::wgmma_wait<0>(); ptx::wgmma_use(acc);
// Thread t of the warpgroup holds rows 16 * (t / 32) + t % 32 / 4 (+ 8), columns 8 * j + 2 * (t %
// 4) (+ 1): acc[4j], acc[4j+1] are the first row's, acc[4j+2], acc[4j+3] the second's. Only the
// shapes that kernels use are here. Leaves out: descriptors and swizzles (layout/smem_tile.cuh),
// which k slices a tile needs (sm90/).
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

// Operand types: k of one instruction is 32 bytes: 32 E4M3, 16 BF16.
enum class MmaType { E4M3, BF16 };

// wgmma.mma_async.m64nNk(32 bytes), A and B by descriptor. accumulate false overwrites acc. BF16
// takes TransA / TransB = 1 for MN-major operands.
template <MmaType Type, int N>
struct Wgmma {
  static_assert(N == 0, "WGMMA_SHAPE: a line at the end of wgmma.cuh names the shape");
};

// The text of the register lists: DG_WGMMA_TEXT_n names %0 .. %(n/2-1), DG_WGMMA_REGS_n binds them.
#define DG_WGMMA_EIGHT(i)                                                                     \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define DG_WGMMA_TEXT_16 "%0, %1, %2, %3, %4, %5, %6, %7"
#define DG_WGMMA_REGS_16 DG_WGMMA_EIGHT(0)
#define DG_WGMMA_TEXT_32 DG_WGMMA_TEXT_16 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define DG_WGMMA_REGS_32 DG_WGMMA_REGS_16, DG_WGMMA_EIGHT(8)
#define DG_WGMMA_TEXT_48 DG_WGMMA_TEXT_32 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define DG_WGMMA_REGS_48 DG_WGMMA_REGS_32, DG_WGMMA_EIGHT(16)
#define DG_WGMMA_TEXT_64 DG_WGMMA_TEXT_48 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define DG_WGMMA_REGS_64 DG_WGMMA_REGS_48, DG_WGMMA_EIGHT(24)
#define DG_WGMMA_TEXT_80 DG_WGMMA_TEXT_64 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define DG_WGMMA_REGS_80 DG_WGMMA_REGS_64, DG_WGMMA_EIGHT(32)
#define DG_WGMMA_TEXT_96 DG_WGMMA_TEXT_80 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define DG_WGMMA_REGS_96 DG_WGMMA_REGS_80, DG_WGMMA_EIGHT(40)
#define DG_WGMMA_TEXT_112 DG_WGMMA_TEXT_96 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define DG_WGMMA_REGS_112 DG_WGMMA_REGS_96, DG_WGMMA_EIGHT(48)
#define DG_WGMMA_TEXT_128 DG_WGMMA_TEXT_112 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define DG_WGMMA_REGS_128 DG_WGMMA_REGS_112, DG_WGMMA_EIGHT(56)
#define DG_WGMMA_TEXT_144 DG_WGMMA_TEXT_128 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define DG_WGMMA_REGS_144 DG_WGMMA_REGS_128, DG_WGMMA_EIGHT(64)
#define DG_WGMMA_TEXT_160 DG_WGMMA_TEXT_144 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define DG_WGMMA_REGS_160 DG_WGMMA_REGS_144, DG_WGMMA_EIGHT(72)
#define DG_WGMMA_TEXT_176 DG_WGMMA_TEXT_160 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define DG_WGMMA_REGS_176 DG_WGMMA_REGS_160, DG_WGMMA_EIGHT(80)
#define DG_WGMMA_TEXT_192 DG_WGMMA_TEXT_176 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define DG_WGMMA_REGS_192 DG_WGMMA_REGS_176, DG_WGMMA_EIGHT(88)
#define DG_WGMMA_TEXT_208 DG_WGMMA_TEXT_192 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define DG_WGMMA_REGS_208 DG_WGMMA_REGS_192, DG_WGMMA_EIGHT(96)
#define DG_WGMMA_TEXT_224 DG_WGMMA_TEXT_208 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define DG_WGMMA_REGS_224 DG_WGMMA_REGS_208, DG_WGMMA_EIGHT(104)
#define DG_WGMMA_TEXT_240 DG_WGMMA_TEXT_224 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define DG_WGMMA_REGS_240 DG_WGMMA_REGS_224, DG_WGMMA_EIGHT(112)
#define DG_WGMMA_TEXT_256 DG_WGMMA_TEXT_240 ", %120, %121, %122, %123, %124, %125, %126, %127"
#define DG_WGMMA_REGS_256 DG_WGMMA_REGS_240, DG_WGMMA_EIGHT(120)

// N: columns; I0 ..: operand numbers after the N / 2 accumulators.
#define DG_WGMMA_E4M3(N, I0, I1, I2)                                                              \
  template <>                                                                                     \
  struct Wgmma<MmaType::E4M3, N> {                                                                \
    DG_DEVICE static void ss(float (&d)[N / 2], u64 a, u64 b, bool accumulate) {                  \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #I2                                       \
                   ", 0;\n"                                                                       \
                   "wgmma.mma_async.sync.aligned.m64n" #N "k32.f32.e4m3.e4m3 {" DG_WGMMA_TEXT_##N \
                   "}, %" #I0 ", %" #I1 ", p, 1, 1;\n}\n"                                         \
                   : DG_WGMMA_REGS_##N                                                            \
                   : "l"(a), "l"(b), "r"(static_cast<u32>(accumulate)));                          \
    }                                                                                             \
  };
#define DG_WGMMA_BF16(N, I0, I1, I2, I3, I4)                                                       \
  template <>                                                                                      \
  struct Wgmma<MmaType::BF16, N> {                                                                 \
    template <int TransA = 0, int TransB = 0>                                                      \
    DG_DEVICE static void ss(float (&d)[N / 2], u64 a, u64 b, bool accumulate) {                   \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #I2                                        \
                   ", 0;\n"                                                                        \
                   "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.bf16.bf16 {" DG_WGMMA_TEXT_##N  \
                   "}, %" #I0 ", %" #I1 ", p, 1, 1, %" #I3 ", %" #I4 ";\n}\n"                      \
                   : DG_WGMMA_REGS_##N                                                             \
                   : "l"(a), "l"(b), "r"(static_cast<u32>(accumulate)), "n"(TransA), "n"(TransB)); \
    }                                                                                              \
  };

// Why not every shape: the front end reads each line in every compilation; all 96 cost 80 ms.
DG_WGMMA_E4M3(16, 8, 9, 10)
DG_WGMMA_E4M3(32, 16, 17, 18)
DG_WGMMA_E4M3(48, 24, 25, 26)
DG_WGMMA_E4M3(64, 32, 33, 34)
DG_WGMMA_E4M3(80, 40, 41, 42)
DG_WGMMA_E4M3(96, 48, 49, 50)
DG_WGMMA_E4M3(112, 56, 57, 58)
DG_WGMMA_E4M3(128, 64, 65, 66)
DG_WGMMA_E4M3(256, 128, 129, 130)
DG_WGMMA_BF16(16, 8, 9, 10, 11, 12)
DG_WGMMA_BF16(32, 16, 17, 18, 19, 20)
DG_WGMMA_BF16(48, 24, 25, 26, 27, 28)
DG_WGMMA_BF16(64, 32, 33, 34, 35, 36)
DG_WGMMA_BF16(128, 64, 65, 66, 67, 68)
DG_WGMMA_BF16(176, 88, 89, 90, 91, 92)
DG_WGMMA_BF16(192, 96, 97, 98, 99, 100)
DG_WGMMA_BF16(256, 128, 129, 130, 131, 132)

}  // namespace deep_gemm::ptx
