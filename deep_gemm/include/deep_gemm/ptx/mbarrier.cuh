// mbarrier instructions, one per function; the PTX name stands above each. sm_90.
//   ptx::mbarrier_init(&bar, 1);  ptx::mbarrier_arrive_expect_tx(&bar, bytes);
//   while (!ptx::mbarrier_try_wait(&bar, phase)) {}
// Leaves out: loops, phases and slots (pipe/ring.cuh).
#pragma once

#include <deep_gemm/ptx/types.cuh>

namespace deep_gemm::ptx {

// cvta.to.shared (a generic pointer into this block's shared memory -> 32-bit address).
DG_DEVICE u32 shared_address(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

// mbarrier.init
DG_DEVICE void mbarrier_init(u64* bar, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(count)
               : "memory");
}

// mbarrier.inval
DG_DEVICE void mbarrier_inval(u64* bar) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(bar)) : "memory");
}

// fence.mbarrier_init: makes inits visible to the cluster and to the copy engine.
DG_DEVICE void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// mbarrier.arrive, count 1, release at block scope.
DG_DEVICE void mbarrier_arrive(u64* bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(bar)) : "memory");
}

// The same by 32-bit address.
DG_DEVICE void mbarrier_arrive(u32 bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}

// mbarrier.expect_tx: more bytes to come in this phase, without an arrival.
DG_DEVICE void mbarrier_expect_tx(u64* bar, u32 bytes) {
  asm volatile(
      "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)),
      "r"(bytes)
      : "memory");
}

// mbarrier.arrive.expect_tx: one arrival that also announces bytes.
DG_DEVICE void mbarrier_arrive_expect_tx(u64* bar, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)),
               "r"(bytes)
               : "memory");
}

// mapa: the same shared address in another block of the cluster.
DG_DEVICE u32 map_shared_address(const void* pointer, u32 rank) {
  u32 remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(remote)
               : "r"(shared_address(pointer)), "r"(rank));
  return remote;
}

// mbarrier.arrive on a barrier of any block of the cluster. Orders this thread's completed reads;
// it is no release of ordinary writes to the other block (that costs a device-wide fence).
DG_DEVICE void mbarrier_arrive_cluster(u32 remote_bar) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(remote_bar) : "memory");
}

// The same with release at cluster scope, for ordinary writes that the other block reads.
DG_DEVICE void mbarrier_arrive_release_cluster(u32 remote_bar) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote_bar)
               : "memory");
}

// mbarrier.try_wait.parity: true once the phase with this parity is complete; acquire at block
// scope.
DG_DEVICE bool mbarrier_try_wait(u64* bar, u32 parity) {
  u32 done;
  asm volatile(
      "{\n.reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}\n"
      : "=r"(done)
      : "r"(shared_address(bar)), "r"(parity)
      : "memory");
  return done != 0;
}

// mbarrier.try_wait.parity, acquire at cluster scope (data that other
// blocks wrote); drops the L1 lines of this SM, so it has no place in a loop that reads global
// memory.
DG_DEVICE bool mbarrier_try_wait_cluster(u64* bar, u32 parity) {
  u32 done;
  asm volatile(
      "{\n.reg .pred p;\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}\n"
      : "=r"(done)
      : "r"(shared_address(bar)), "r"(parity)
      : "memory");
  return done != 0;
}

// The same by 32-bit address.
DG_DEVICE bool mbarrier_try_wait(u32 bar, u32 parity) {
  u32 done;
  asm volatile(
      "{\n.reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}\n"
      : "=r"(done)
      : "r"(bar), "r"(parity)
      : "memory");
  return done != 0;
}

// mbarrier.test_wait.parity: the same question without suspending the thread.
DG_DEVICE bool mbarrier_test_wait(u64* bar, u32 parity) {
  u32 done;
  asm volatile(
      "{\n.reg .pred p;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}\n"
      : "=r"(done)
      : "r"(shared_address(bar)), "r"(parity)
      : "memory");
  return done != 0;
}

}  // namespace deep_gemm::ptx
