// Register reallocation between warpgroups (setmaxnreg). sm_90a.
//   ptx::release_registers<40>();   // loader branch        ptx::acquire_registers<232>();  // math
//   branch
// Leaves out: the choice of numbers (each kernel's Derived section).
#pragma once

#include <deep_gemm/ptx/types.cuh>

namespace deep_gemm::ptx {

// setmaxnreg.inc: blocks until the registers are free.
template <u32 N>
DG_DEVICE void acquire_registers() {
  static_assert(N % 8 == 0 && N >= 24 && N <= 256, "SETMAXNREG: a multiple of 8 in [24, 256]");
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}

// setmaxnreg.dec
template <u32 N>
DG_DEVICE void release_registers() {
  static_assert(N % 8 == 0 && N >= 24 && N <= 256, "SETMAXNREG: a multiple of 8 in [24, 256]");
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

}  // namespace deep_gemm::ptx
