// Tensor and bulk copies (cp.async.bulk), one instruction per function. sm_90.
//   ptx::tma_load_2d(slot, &params.a, &bar, k0, row0);      // inner coordinate first, in elements
//   ptx::tma_store_2d(&params.d, slot, n0, row0); ptx::bulk_commit(); ptx::bulk_wait_read<0>();
// Loads complete on an mbarrier by bytes; a box part outside the tensor arrives as zeros and
// counts. Leaves out: how maps are encoded (host, launch/tensor_maps) and waits (pipe/ring.cuh).
#pragma once

#include <deep_gemm/ptx/mbarrier.cuh>

namespace deep_gemm::ptx {

// Cache policies of createpolicy.fractional.L2 with fraction 1, as the 64-bit values that it
// returns.
enum class CachePolicy : u64 {
  EvictNormal = 0x1000000000000000ull,
  EvictFirst = 0x12F0000000000000ull,
  EvictLast = 0x14F0000000000000ull,
};

// prefetch.tensormap
DG_DEVICE void prefetch_tensor_map(const void* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// cp.async.bulk.tensor.2d, global to this block's shared memory
DG_DEVICE void tma_load_2d(void* slot, const void* map, u64* bar, i32 c0, i32 c1,
                           CachePolicy policy = CachePolicy::EvictNormal) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(shared_address(slot)),
      "l"(map), "r"(shared_address(bar)), "r"(c0), "r"(c1), "l"(static_cast<u64>(policy))
      : "memory");
}

// The same, delivered at the same offset to every block of the mask; each block's own barrier
// counts.
DG_DEVICE void tma_load_2d_multicast(void* slot, const void* map, u64* bar, i32 c0, i32 c1,
                                     u16 block_mask,
                                     CachePolicy policy = CachePolicy::EvictNormal) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5, %6;" ::"r"(
          shared_address(slot)),
      "l"(map), "r"(shared_address(bar)), "r"(c0), "r"(c1), "h"(block_mask),
      "l"(static_cast<u64>(policy))
      : "memory");
}

// cp.async.bulk.tensor.3d, global to shared
DG_DEVICE void tma_load_3d(void* slot, const void* map, u64* bar, i32 c0, i32 c1, i32 c2,
                           CachePolicy policy = CachePolicy::EvictNormal) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(shared_address(slot)),
      "l"(map), "r"(shared_address(bar)), "r"(c0), "r"(c1), "r"(c2), "l"(static_cast<u64>(policy))
      : "memory");
}

// cp.async.bulk.tensor.4d, global to shared
DG_DEVICE void tma_load_4d(void* slot, const void* map, u64* bar, i32 c0, i32 c1, i32 c2, i32 c3,
                           CachePolicy policy = CachePolicy::EvictNormal) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(shared_address(slot)),
      "l"(map), "r"(shared_address(bar)), "r"(c0), "r"(c1), "r"(c2), "r"(c3),
      "l"(static_cast<u64>(policy))
      : "memory");
}

// cp.async.bulk, contiguous global bytes (16-byte multiples and addresses) to shared
DG_DEVICE void bulk_load(void* slot, const void* source, u32 bytes, u64* bar) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(slot)),
      "l"(source), "r"(bytes), "r"(shared_address(bar))
      : "memory");
}

// cp.async.bulk.tensor.2d, shared to global
DG_DEVICE void tma_store_2d(const void* map, const void* slot, i32 c0, i32 c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
      "r"(shared_address(slot)), "r"(c0), "r"(c1)
      : "memory");
}

// cp.async.bulk.tensor.3d, shared to global
DG_DEVICE void tma_store_3d(const void* map, const void* slot, i32 c0, i32 c1, i32 c2) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
      "r"(shared_address(slot)), "r"(c0), "r"(c1), "r"(c2)
      : "memory");
}

// cp.reduce.async.bulk.tensor.2d.add, shared to global
DG_DEVICE void tma_reduce_add_2d(const void* map, const void* slot, i32 c0, i32 c1) {
  asm volatile(
      "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%2, %3}], [%1];" ::
          "l"(map),
      "r"(shared_address(slot)), "r"(c0), "r"(c1)
      : "memory");
}

// cp.reduce.async.bulk.tensor.3d.add, shared to global
DG_DEVICE void tma_reduce_add_3d(const void* map, const void* slot, i32 c0, i32 c1, i32 c2) {
  asm volatile(
      "cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.bulk_group [%0, {%2, %3, %4}], "
      "[%1];" ::"l"(map),
      "r"(shared_address(slot)), "r"(c0), "r"(c1), "r"(c2)
      : "memory");
}

// cp.async.bulk, contiguous shared bytes to global
DG_DEVICE void bulk_store(void* target, const void* slot, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(target),
               "r"(shared_address(slot)), "r"(bytes)
               : "memory");
}

// cp.async.bulk.commit_group
DG_DEVICE void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// cp.async.bulk.wait_group: the stores are complete
template <int Pending>
DG_DEVICE void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(Pending) : "memory");
}

// cp.async.bulk.wait_group.read: the shared memory may be written again
template <int Pending>
DG_DEVICE void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}

}  // namespace deep_gemm::ptx
