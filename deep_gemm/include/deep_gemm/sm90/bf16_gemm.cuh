// BF16 GEMM, Hopper.                             stem: bf16_gemm
//   d[m,n] = (c[m,n] +) sum over k of a[m,k] * b[n,k]        fp32 sums, K ascending, one rounding
// Grid: persistent, one block per SM, whole clusters.  Roles: 1 loader warp, 1-2 math warpgroups.
// A and B are K-major or MN-major, each as its tile says. K tails arrive as zeros, or are cleared
// where another group follows along k; m and n tails are cut at the store. Dependent launch: waits
// before the first global read, releases after the last store.
#pragma once

#include <deep_gemm/abi/gemm_params.h>
#include <deep_gemm/epi/store_tile.cuh>
#include <deep_gemm/layout/mn_clear.cuh>
#include <deep_gemm/layout/mn_major.cuh>
#include <deep_gemm/layout/smem_tile.cuh>
#include <deep_gemm/pipe/ring.cuh>
#include <deep_gemm/ptx/griddep.cuh>
#include <deep_gemm/ptx/regs.cuh>
#include <deep_gemm/ptx/tma.cuh>
#include <deep_gemm/ptx/wgmma.cuh>
#include <deep_gemm/sched/m_grouped.cuh>

namespace deep_gemm::sm90 {

// ---- Contract: what a plan may ask for (same words as plan/gemm_legality) ----
template <TileConfig C>
struct Bf16Contract {
  static_assert(C.type == ElementType::Bf16, "ELEMENT_TYPE: bf16 operands");
  static_assert(C.block_k == 128, "K_BLOCK: 128 bytes of K a ring slot");
  static_assert(C.stages >= 2, "RING_DEPTH: load and math must overlap");
  static_assert(C.math_warpgroups == 1 || C.math_warpgroups == 2, "MATH_WARPGROUPS: 1 or 2");
  static_assert(C.block_m == 64 * C.math_warpgroups, "M_ATOM: 64 rows a math warpgroup");
  static_assert(C.block_n % 16 == 0 && C.block_n >= 16 && C.block_n <= 256, "N_ATOM: 16 columns");
  static_assert(C.block_n >= 64 || (C.groups == Groups::Dense && C.add_to != AddTo::D),
                "N_NARROW: stored row by row, so not added to d");
  static_assert(C.b_major == Major::K || C.block_n % 64 == 0, "N_CHUNK: boxes of 64 of b along n");
  static_assert(C.block_n < 64 || C.d_type == OutputType::Bf16 || C.block_n % 32 == 0,
                "N_STORE: float32 is stored by 32 columns");
  static_assert(C.n_parts == 1 && C.products == 1, "PRODUCTS: one sum, in the tensor cores");
  static_assert(C.add_to != AddTo::D || C.d_type == OutputType::F32, "ADD_TO_D: float32");
  static_assert(C.cluster == 1 || C.share != Share::None, "CLUSTER: an operand is shared");
  static_assert(C.cluster == 1 || C.groups == Groups::Dense, "CLUSTER: one problem");
  static_assert(C.groups != Groups::KGrouped || (C.a_major == Major::Mn && C.b_major == Major::Mn),
                "K_GROUPS: K is not contiguous");
  static_assert(C.share != Share::A || C.block_m % (64 * C.cluster) == 0, "SHARE: whole chunks");
  static_assert(C.share != Share::B ||
                    C.block_n % ((C.b_major == Major::K ? 8 : 64) * C.cluster) == 0,
                "SHARE: whole atoms of the swizzle, or chunks");
};

// ---- Derived: numbers that follow from the tile ----
template <TileConfig C>
struct Bf16Derived : Bf16Contract<C> {
  static constexpr int kMathThreads = 128 * C.math_warpgroups;
  static constexpr int kThreads = kMathThreads + 128;
  static constexpr int kLoaderRegs = C.math_warpgroups == 2 ? 40 : 96;
  static constexpr int kMathRegs = C.math_warpgroups == 2 ? 232 : 240;
  static constexpr int kBlockK = 64;  // elements
  static constexpr int kABytes = C.block_m * layout::kRowBytes;
  static constexpr int kBBytes = C.block_n * layout::kRowBytes;
  static constexpr int kABoxRows = C.block_m / (C.share == Share::A ? C.cluster : 1);
  static constexpr int kBBoxRows = C.block_n / (C.share == Share::B ? C.cluster : 1);
};

// ---- Shared memory: one struct, order is the layout ----
template <TileConfig C>
struct Bf16Smem {
  using D = Bf16Derived<C>;
  alignas(1024) u8 a[C.stages][D::kABytes];  // 128-byte swizzle
  alignas(1024) u8 b[C.stages][D::kBBytes];  // 128-byte swizzle
  alignas(1024) u8 stage[4 * C.math_warpgroups][C.store_slots * epi::kStageBytes];  // the same
  u64 tail;  // of a slot whose end is cleared before it is full: the copying warp, with the bytes
  // full: the copying warp, which announces the bytes; empty: every math warp of the cluster
  pipe::Ring<C.stages, C.cluster> ring;
};

// ---- Barriers: every named barrier of this kernel ----
// None: the ring's mbarriers, and warps that store alone.

// ---- Roles: each reads top to bottom as one program ----
// One thread copies A and B (its warp schedules with it where the scheduler asks for that); a block
// of a cluster brings its part of the shared operand to all.
template <TileConfig C>
struct Bf16Copy {
  using D = Bf16Derived<C>;
  static constexpr bool kShareA = C.share == Share::A && C.cluster > 1;
  static constexpr bool kShareB = C.share == Share::B && C.cluster > 1;

  // A box whose contiguous direction begins at `inner`.
  template <bool kIsShared, bool kHasGroups>
  DG_DEVICE static void box(u8* slot, const TensorMap& map, u64* bar, i32 inner, i32 outer,
                            i32 group) {
    if constexpr (kIsShared) {
      ptx::tma_load_2d_multicast(slot, &map, bar, inner, outer,
                                 static_cast<u16>((1 << C.cluster) - 1));
    } else if constexpr (kHasGroups) {
      ptx::tma_load_3d(slot, &map, bar, inner, outer, group);
    } else {
      ptx::tma_load_2d(slot, &map, bar, inner, outer);
    }
  }

  template <Major kMajor, int kRows, bool kIsShared, bool kHasGroups>
  DG_DEVICE static void load(u8* slot, const TensorMap& map, u64* bar, i32 k, i32 row, i32 group) {
    if constexpr (kMajor == Major::K) {
      box<kIsShared, kHasGroups>(slot, map, bar, k, row, group);
    } else {
#pragma unroll
      for (int i = 0; i < kRows / layout::kMnChunkRows; ++i) {
        box<kIsShared, kHasGroups>(slot + i * layout::kMnChunkBytes, map, bar,
                                   row + i * layout::kMnChunkRows, k, group);
      }
    }
  }

  const GemmParams& params;
  Bf16Smem<C>& smem;
  const u32 a_part, b_part;  // first row of this block's part of a slot
  pipe::Cursor<C.stages> at;
  u32 tail_phase = 0;

  DG_DEVICE Bf16Copy(const GemmParams& p, Bf16Smem<C>& s, u32 rank)
      : params(p),
        smem(s),
        a_part(kShareA ? rank * D::kABoxRows : 0),
        b_part(kShareB ? rank * D::kBBoxRows : 0) {}

  // 64 of K from `k` into the slot at hand, which is empty.
  DG_DEVICE void copy(u64* bar, const sched::Tile& tile, i32 group, i32 k) {
    constexpr bool kHasGroups = C.groups != Groups::Dense && C.groups != Groups::KGrouped;
    // Rows of a slot that no box brings make rows of d that nobody stores.
    const u32 bytes =
        C.groups == Groups::Dense ? static_cast<u32>(params.slot_bytes) : D::kABytes + D::kBBytes;
    ptx::mbarrier_arrive_expect_tx(bar, bytes);
    load<C.a_major, D::kABoxRows, kShareA, false>(smem.a[at.slot] + a_part * layout::kRowBytes,
                                                  params.a, bar, k,
                                                  tile.row + static_cast<i32>(a_part), 0);
    load<C.b_major, D::kBBoxRows, kShareB, kHasGroups>(smem.b[at.slot] + b_part * layout::kRowBytes,
                                                       params.b, bar, k,
                                                       tile.col + static_cast<i32>(b_part), group);
  }

  // The end of a group along K, by the whole warp: behind it lies the next group.
  DG_DEVICE void copy_tail(const sched::Tile& tile, i32 k, u32 left, bool is_copier, u32 lane) {
    const u32 copier = __ffs(__ballot_sync(0xffffffff, is_copier)) - 1;
    at.slot = __shfl_sync(0xffffffff, at.slot, copier);
    at.phase = __shfl_sync(0xffffffff, at.phase, copier);
    if (is_copier) {
      smem.ring.wait_empty(at);
      copy(&smem.tail, tile, 0, k);
    }
    ptx::warp_sync();
    while (!ptx::mbarrier_try_wait(&smem.tail, tail_phase)) {
    }
    tail_phase ^= 1;
    ptx::warp_sync();
    layout::clear_mn_lines(smem.a[at.slot], C.block_m / layout::kMnChunkRows, left, lane);
    layout::clear_mn_lines(smem.b[at.slot], C.block_n / layout::kMnChunkRows, left, lane);
    // Ordering: cleared by this warp's st.shared, read by the tensor cores.
    ptx::fence_proxy_async_shared();
    smem.ring.publish(at, lane);
    at.advance();
  }

  DG_DEVICE void run() {
    constexpr bool kWholeWarp = sched::Schedule<C>::kWholeWarp;
    constexpr bool kHasTails = C.groups == Groups::KGrouped;
    sched::Schedule<C> schedule(params, kShareA || kShareB ? ptx::cluster_rank() : 0);
    sched::Tile tile;
    const bool is_copier = ptx::elect_one();
    if (!kWholeWarp && !is_copier) return;
    while (schedule.next(tile)) {
      const i32 k = schedule.k_begin(), count = schedule.k_count();
      const i32 blocks =
          kHasTails ? count / D::kBlockK : static_cast<i32>(sched::ceil_div(count, D::kBlockK));
      if (is_copier) {
        const i32 group = schedule.group(tile);
        for (i32 kb = 0; kb < blocks; ++kb, at.advance()) {
          smem.ring.wait_empty(at);
          copy(smem.ring.full_bar(at), tile, group, k + kb * D::kBlockK);
        }
      }
      // Why: uniform registers are the warp's; lanes that ran ahead would change the copier's.
      if constexpr (kWholeWarp) ptx::warp_sync();
      if constexpr (kHasTails) {
        const i32 left = count - blocks * D::kBlockK;
        if (left > 0) {
          copy_tail(tile, k + blocks * D::kBlockK, static_cast<u32>(left), is_copier,
                    threadIdx.x % 32);
        }
      }
    }
  }
};

// A warpgroup sums its 64 rows in the tensor cores' registers and stores them.
template <TileConfig C>
struct Bf16Math {
  using D = Bf16Derived<C>;
  using Mma = ptx::Wgmma<ptx::MmaType::BF16, C.block_n>;
  using Sum = float[C.block_n / 2];
  static constexpr int kTransA = C.a_major == Major::Mn, kTransB = C.b_major == Major::Mn;

  DG_DEVICE static u64 descriptor(Major major, const u8* tile) {
    const u32 address = ptx::shared_address(tile);
    return major == Major::K ? layout::swizzle128_descriptor(address)
                             : layout::mn_major_descriptor(address);
  }

  static constexpr bool kMayBeEmpty = C.groups == Groups::KGrouped;  // a tile may have no K

  DG_DEVICE static void clear(Sum& sum) {
#pragma unroll
    for (int i = 0; i < C.block_n / 2; ++i) sum[i] = 0.0f;
  }

  // One slot: 64 along K.
  DG_DEVICE static void multiply(Sum& sum, u64 a, u64 b, bool accumulate) {
    constexpr u64 kAStep = layout::descriptor_bytes(kTransA ? layout::kMnStepBytes : 32);
    constexpr u64 kBStep = layout::descriptor_bytes(kTransB ? layout::kMnStepBytes : 32);
    ptx::wgmma_use(sum);
    ptx::wgmma_fence();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      Mma::template ss<kTransA, kTransB>(sum, a + i * kAStep, b + i * kBStep, i > 0 || accumulate);
    }
    ptx::wgmma_commit();
  }

  DG_DEVICE static void run(const GemmParams& params, Bf16Smem<C>& smem, u32 rank, u32 warpgroup) {
    const u32 lane = threadIdx.x % 32, warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
    const i32 first_row = static_cast<i32>(warpgroup * 64);
    // 64 rows are 8 KB in both layouts.
    const u64 a = descriptor(C.a_major, smem.a[0] + first_row * layout::kRowBytes);
    const u64 b = descriptor(C.b_major, smem.b[0]);
    const u32 report = smem.ring.report_to(lane);
    sched::Schedule<C> schedule(params, rank);
    pipe::Cursor<C.stages> at;
    sched::Tile tile;
    while (schedule.next(tile)) {
      const i32 k_blocks = static_cast<i32>(sched::ceil_div(schedule.k_count(), D::kBlockK));
      // A group without K leaves d as it is.
      if (kMayBeEmpty && C.add_to == AddTo::D && k_blocks == 0) continue;
      Sum sum;
      if constexpr (kMayBeEmpty) clear(sum);
      u32 before = 0;
      for (i32 kb = 0; kb < k_blocks; ++kb) {
        smem.ring.wait_full(at);
        multiply(sum, a + at.slot * layout::descriptor_bytes(D::kABytes),
                 b + at.slot * layout::descriptor_bytes(D::kBBytes), kMayBeEmpty || kb > 0);
        ptx::wgmma_wait<1>();  // the slot before this one has been read
        if (kb > 0) smem.ring.release(report, before, lane);
        before = at.slot;
        at.advance();
      }
      ptx::wgmma_wait<0>();
      ptx::wgmma_use(sum);
      if (!kMayBeEmpty || k_blocks > 0) smem.ring.release(report, before, lane);
      if (!schedule.computes(tile, tile.row + first_row)) clear(sum);
      epi::store_tile<C>(schedule, tile, sum, smem.stage[warp], params,
                         first_row + static_cast<i32>(warp % 4 * 16));
    }
    ptx::bulk_wait<0>();
  }
};

// ---- Body: initialise, then one if/else over roles ----
template <TileConfig C>
DG_DEVICE void bf16_gemm(const GemmParams& params, u8* shared) {
  using D = Bf16Derived<C>;
  Bf16Smem<C>& smem = layout::shared_struct<Bf16Smem<C>>(shared);
  const u32 warpgroup = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
  const u32 rank = C.cluster == 1 ? 0 : ptx::cluster_rank();
  if (threadIdx.x == 0) {
    ptx::prefetch_tensor_map(&params.a);
    ptx::prefetch_tensor_map(&params.b);
    ptx::prefetch_tensor_map(&params.d);
    ptx::mbarrier_init(&smem.tail, 1);
    smem.ring.init(1, 4 * C.math_warpgroups);
  }
  __syncthreads();
  if constexpr (C.cluster > 1) {
    ptx::cluster_arrive_relaxed();
    ptx::cluster_wait();
  }
  ptx::griddep_wait();
  if (warpgroup == C.math_warpgroups) {
    ptx::release_registers<D::kLoaderRegs>();
    const u32 warp = __shfl_sync(0xffffffff, threadIdx.x / 32 % 4, 0);
    if (warp == 0) Bf16Copy<C>(params, smem, rank).run();
    ptx::warp_sync();
  } else {
    ptx::acquire_registers<D::kMathRegs>();
    Bf16Math<C>::run(params, smem, rank, warpgroup);
  }
  ptx::griddep_launch();
  if constexpr (C.cluster >
                1) {  // a neighbour may still copy into this block or arrive on its barriers
    ptx::cluster_arrive_relaxed();
    ptx::cluster_wait();
  }
}

}  // namespace deep_gemm::sm90
