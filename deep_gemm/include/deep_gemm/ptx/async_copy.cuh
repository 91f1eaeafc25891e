// Copies of 16 bytes that complete later, sm_80 and later: one instruction each.
//   ptx::copy_async_16(shared, p, valid);  ptx::copy_async_commit();  ptx::copy_async_wait<1>();
// Leaves out: bulk copies (tma.cuh).
#pragma once

#include <deep_gemm/ptx/types.cuh>

namespace deep_gemm::ptx {

// cp.async.cg: `valid` bytes are read, the rest of the 16 are zeros.
DG_DEVICE void copy_async_16(u32 shared, const void* p, u32 valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(p), "r"(valid)
               : "memory");
}
DG_DEVICE void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until at most kPending of this thread's groups are under way.
template <int kPending>
DG_DEVICE void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace deep_gemm::ptx
