// A ring of shared-memory slots between loaders and math warps.
//   pipe::Ring<4> ring;  pipe::Cursor<4> at;
//   loader: ring.wait_empty(at); ring.expect(at, bytes); copy(..., ring.full_bar(at));
//   at.advance(); math:   ring.wait_full(at); use(at.slot); ring.release(at); at.advance();
// full: one arrival a loader warp (the copying one also announces bytes).
// empty: one arrival a math warp of every block of the cluster; a new ring is empty.
// Leaves out: what is in a slot.
#pragma once

#include <deep_gemm/ptx/fence.cuh>
#include <deep_gemm/ptx/mbarrier.cuh>

namespace deep_gemm::pipe {

// Where a role stands in the ring: every role walks all slots in order.
template <int Slots>
struct Cursor {
  u32 slot = 0;
  u32 phase = 0;

  DG_DEVICE void advance() {
    if (++slot == Slots) {
      slot = 0;
      phase ^= 1;
    }
  }
};

template <int Slots, int Cluster = 1>
struct Ring {
  u64 full[Slots];
  u64 empty[Slots];

  DG_DEVICE void init_slot(u32 slot, u32 loader_warps, u32 math_warps) {
    ptx::mbarrier_init(&full[slot], loader_warps);
    ptx::mbarrier_init(&empty[slot], math_warps * Cluster);
  }

  // One thread, before a block (cluster) barrier.
  DG_DEVICE void init(u32 loader_warps, u32 math_warps) {
#pragma unroll
    for (u32 i = 0; i < Slots; ++i) init_slot(i, loader_warps, math_warps);
    ptx::fence_mbarrier_init();
  }

  // The same by a whole warp, a slot a lane.
  DG_DEVICE void init(u32 loader_warps, u32 math_warps, u32 lane) {
    static_assert(Slots <= 32);
    if (lane < Slots) init_slot(lane, loader_warps, math_warps);
    ptx::fence_mbarrier_init();
  }

  DG_DEVICE u64* full_bar(const Cursor<Slots>& at) { return &full[at.slot]; }

  DG_DEVICE void wait_empty(const Cursor<Slots>& at) {
    while (!ptx::mbarrier_try_wait(&empty[at.slot], at.phase ^ 1)) {
    }
  }

  // The copying loader's arrival.
  DG_DEVICE void expect(const Cursor<Slots>& at, u32 bytes) {
    ptx::mbarrier_arrive_expect_tx(&full[at.slot], bytes);
  }

  // A loader warp that wrote with ordinary stores: all lanes call.
  DG_DEVICE void publish(const Cursor<Slots>& at, u32 lane) {
    ptx::warp_sync();
    if (lane == 0) ptx::mbarrier_arrive(&full[at.slot]);
  }

  DG_DEVICE void wait_full(const Cursor<Slots>& at) {
    while (!ptx::mbarrier_try_wait(&full[at.slot], at.phase)) {
    }
  }

  // Where a lane reports a slot as empty: lane i to block i of the cluster. Once, before the loop.
  DG_DEVICE u32 report_to(u32 lane) {
    return Cluster == 1 ? ptx::shared_address(empty)
                        : ptx::map_shared_address(empty, lane % Cluster);
  }

  // A math warp is done with the slot, in this block and in those that copy into it: all lanes
  // call.
  DG_DEVICE static void release(u32 report, u32 slot, u32 lane) {
    ptx::warp_sync();
    if (lane < Cluster) {
      if constexpr (Cluster == 1) {
        ptx::mbarrier_arrive(report + slot * 8);
      } else {
        ptx::mbarrier_arrive_cluster(report + slot * 8);
      }
    }
  }
};

}  // namespace deep_gemm::pipe
