// Fences, named barriers, warp and cluster barriers, one instruction per function.
//   ptx::fence_proxy_async_shared();          // before the copy engine or wgmma reads st.shared
//   data ptx::named_sync(id, 128);                 // id from the kernel's Bar enum
// Leaves out: mbarriers (mbarrier.cuh) and wgmma's own fence (wgmma.cuh).
#pragma once

#include <deep_gemm/ptx/types.cuh>

namespace deep_gemm::ptx {

// fence.proxy.async.shared::cta: generic writes to shared memory before async-proxy reads.
DG_DEVICE void fence_proxy_async_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// fence.proxy.async.global: generic writes to global memory before async-proxy reads.
DG_DEVICE void fence_proxy_async_global() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

// fence.acq_rel.gpu
DG_DEVICE void fence_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// bar.sync id, threads
DG_DEVICE void named_sync(u32 id, u32 threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// bar.arrive id, threads: counts without waiting.
DG_DEVICE void named_arrive(u32 id, u32 threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// bar.warp.sync, all lanes
DG_DEVICE void warp_sync() { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }

// elect.sync: true in exactly one lane of a converged warp.
DG_DEVICE bool elect_one() {
  u32 elected;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}\n"
               : "=r"(elected));
  return elected != 0;
}

// barrier.cluster.arrive.release
DG_DEVICE void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

// barrier.cluster.arrive.relaxed: meets the other blocks without a device-wide fence.
DG_DEVICE void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

// barrier.cluster.wait.acquire
DG_DEVICE void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// %cluster_ctarank
DG_DEVICE u32 cluster_rank() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

}  // namespace deep_gemm::ptx
