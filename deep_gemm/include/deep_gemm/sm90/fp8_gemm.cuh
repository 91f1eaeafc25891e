// FP8 GEMM with block scales, Hopper.            stem: fp8_gemm
//   d[m,n] = (c[m,n] +) sum over kb of  a_scale[m,kb] * b_scale[n/128,kb] * dot(a[m,kb], b[n,kb])
// or, as its tile says, a scale of b for each n.
// Grid: persistent, one block per SM, whole clusters.  Roles: 1 loader warpgroup, 1-3 math
// warpgroups; a warp of the loaders hands out the tiles and stores them. The tensor cores sum one
// block of 128 along K from zero; the fp32 sum over blocks is kept beside it, blocks in ascending
// order. K tails arrive as zeros; m and n tails are cut at the store. Dependent launch: waits
// before the first global read, releases after the last store.
#pragma once

#include <deep_gemm/abi/gemm_params.h>
#include <deep_gemm/epi/store_tile.cuh>
#include <deep_gemm/layout/smem_tile.cuh>
#include <deep_gemm/pipe/ring.cuh>
#include <deep_gemm/ptx/griddep.cuh>
#include <deep_gemm/ptx/regs.cuh>
#include <deep_gemm/ptx/tma.cuh>
#include <deep_gemm/ptx/wgmma.cuh>
#include <deep_gemm/sched/m_grouped.cuh>
#include <deep_gemm/sm90/fp8_gemm_load.cuh>
#include <deep_gemm/sm90/fp8_gemm_store.cuh>
#include <deep_gemm/sm90/fp8_gemm_tile.cuh>

namespace deep_gemm::sm90 {

// ---- Contract, Derived, Shared memory, Barriers: fp8_gemm_tile.cuh ----
// ---- Roles: each reads top to bottom as one program; loaders: fp8_gemm_load.cuh, the
// storing warp: fp8_gemm_store.cuh ----
// A warpgroup owns 64 rows. Its products form one stream over parts, K blocks and tiles: the first
// of a tile starts before the tile before it is stored.
template <TileConfig C>
struct Fp8Math {
  using D = Fp8Derived<C>;
  using Smem = Fp8Smem<C>;
  using Sum = float[C.block_n / 2];
  static constexpr int kSecond = C.n_parts == 1 ? 0 : D::kPartN;  // first column of product two

  struct Scales {  // of this thread's two rows, and of the part's columns where they are few
    float row[2];
    float col[D::kScalesEachColumn ? 1 : D::kPartN / D::kScaleSpan];
  };

  // A product of a part of the columns, under way.
  template <int kColumns>
  struct Running {
    float value[kColumns / 2];
    Scales scales;
    u32 slot;
  };
  using One = Running<D::kPartN>;
  using Two = Running<D::kSecondN>;

  const GemmParams& params;
  Smem& smem;
  const u32 warp, lane, first_row;
  const u64 a, b;       // descriptors of this warpgroup's rows and of all columns, slot 0
  const u32 scale_row;  // this thread's first row in a slot's scales
  const u32 report;     // where this lane reports empty slots
  const i32 pairs;      // of products in a tile
  pipe::Cursor<C.stages> at;
  u32 number = 0;         // of the tile that products are started for
  u32 use = 0, next_use;  // of the rows of the tile in the sum, or 0; of the tile started

  DG_DEVICE Fp8Math(const GemmParams& p, Smem& s, u32 warpgroup)
      : params(p),
        smem(s),
        warp(threadIdx.x / 32),
        lane(threadIdx.x % 32),
        first_row(warpgroup * 64),
        a(layout::swizzle128_descriptor(ptx::shared_address(s.a[0] + warpgroup * 64 * C.block_k))),
        b(layout::swizzle128_descriptor(ptx::shared_address(s.b[0]))),
        scale_row(warpgroup * 64 + warp % 4 * 16 + lane / 4),
        report(s.ring.report_to(lane)),
        pairs(D::k_steps(p.k) * C.n_parts / 2) {}

  // The next block's slot, once it is full.
  DG_DEVICE u32 take() {
    const u32 slot = at.slot;
    smem.ring.wait_full(at);
    at.advance();
    return slot;
  }

  // Where a product's operands begin.
  DG_DEVICE u64 a_of(u32 slot) const { return a + slot * layout::descriptor_bytes(D::kABytes); }
  template <int kFirst>
  DG_DEVICE u64 b_of(u32 slot) const {
    return b + slot * layout::descriptor_bytes(D::kBBytes) +
           layout::descriptor_bytes(kFirst * C.block_k);
  }

  // The i-th of a product's four instructions: 32 of a block of 128 along K.
  template <int kRegisters>
  DG_DEVICE static void multiply(float (&product)[kRegisters], u64 da, u64 db, int i) {
    using Mma = ptx::Wgmma<ptx::MmaType::E4M3, 2 * kRegisters>;
    Mma::ss(product, da + layout::descriptor_bytes(32 * i), db + layout::descriptor_bytes(32 * i),
            i > 0);
  }

  template <int kFirst, int kColumns>
  DG_DEVICE void read_scales(Running<kColumns>& x) const {
    const u32 rows = ptx::shared_address(&smem.a_scale[x.slot][scale_row]);
    const u32 cols = ptx::shared_address(&smem.b_scale[x.slot][kFirst / D::kScaleSpan]);
    x.scales.row[0] = ptx::load_shared(rows);
    x.scales.row[1] = ptx::load_shared(rows + 8 * sizeof(float));
    if constexpr (!D::kScalesEachColumn) {
#pragma unroll
      for (int i = 0; i < kColumns / D::kScaleSpan; ++i) {
        x.scales.col[i] = ptx::load_shared(cols + i * sizeof(float));
      }
    }
  }

  template <int kFirst, int kRegisters>
  DG_DEVICE static void promote(Sum& sum, const float (&product)[kRegisters], Scales s) {
    ptx::wgmma_hold(s.row[0]);
    ptx::wgmma_hold(s.row[1]);
#pragma unroll
    for (int i = 0; i < 2 * kRegisters / D::kScaleSpan; ++i) {
      ptx::wgmma_hold(s.col[i]);
      const float s0 = s.row[0] * s.col[i], s1 = s.row[1] * s.col[i];
#pragma unroll
      for (int j = i * D::kScaleSpan / 8; j < (i + 1) * D::kScaleSpan / 8; ++j) {
        float* to = sum + kFirst / 2 + 4 * j;
        to[0] += s0 * product[4 * j];
        to[1] += s0 * product[4 * j + 1];
        to[2] += s1 * product[4 * j + 2];
        to[3] += s1 * product[4 * j + 3];
      }
    }
    ptx::wgmma_use(sum);  // none of this after the next wgmma, which overwrites the product
  }

  // The same with a scale a column, which are too many to hold: they are read a batch ahead.
  template <int kFirst, int kColumns>
  DG_DEVICE void promote_each_column(Sum& sum, const Running<kColumns>& x) const {
    constexpr int kBatch = 2, kBatches = kColumns / 8 / kBatch;
    const u32 cols = ptx::shared_address(&smem.b_scale[x.slot][kFirst]) + lane % 4 * 8;
    float row[2] = {x.scales.row[0], x.scales.row[1]};
    ptx::wgmma_hold(row[0]);
    ptx::wgmma_hold(row[1]);
    ptx::Floats2 col[2][kBatch];
    const auto read = [&](int batch) {
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        col[batch % 2][j] = ptx::load_shared_floats2(cols + (batch * kBatch + j) * 32);
      }
    };
    read(0);
#pragma unroll
    for (int batch = 0; batch < kBatches; ++batch) {
      if (batch + 1 < kBatches) read(batch + 1);
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        const ptx::Floats2& s = col[batch % 2][j];
        const float* from = x.value + 4 * (batch * kBatch + j);
        float* to = sum + kFirst / 2 + 4 * (batch * kBatch + j);
        to[0] += row[0] * s.x * from[0];
        to[1] += row[0] * s.y * from[1];
        to[2] += row[1] * s.x * from[2];
        to[3] += row[1] * s.y * from[3];
      }
    }
    ptx::wgmma_use(sum);
  }

  // Starts a product while none, or another, is under way.
  template <int kFirst, int kColumns>
  DG_DEVICE void start(Running<kColumns>& x, u32 slot) {
    const u64 da = a_of(slot), db = b_of<kFirst>(slot);
    x.slot = slot;
    ptx::wgmma_use(x.value);
    ptx::wgmma_fence();
#pragma unroll
    for (int i = 0; i < 4; ++i) multiply(x.value, da, db, i);
    ptx::wgmma_commit();
    read_scales<kFirst>(x);
  }

  // Scales the older product into the sum; Pending younger ones stay under way.
  template <int kFirst, int Pending, int kColumns>
  DG_DEVICE void finish(Sum& sum, Running<kColumns>& x) {
    ptx::wgmma_wait<Pending>();
    ptx::wgmma_use(x.value);
    constexpr bool kIsLast = C.n_parts == 1 || kFirst != 0;
    if constexpr (D::kScalesEachColumn) {
      promote_each_column<kFirst>(sum, x);
      if (kIsLast) smem.ring.release(report, x.slot, lane);
    } else {
      if (kIsLast) smem.ring.release(report, x.slot, lane);
      promote<kFirst>(sum, x.value, x.scales);
    }
  }

  // Both at once. A warp waits while it issues, as the tensor cores take few instructions ahead:
  // the scaling stands behind the first, and the others follow it.
  template <int kThen, int kNow, int kThenColumns, int kNowColumns>
  DG_DEVICE void turn(Sum& sum, Running<kThenColumns>& then, u32 slot, Running<kNowColumns>& now) {
    // Why: ptxas spreads the longer scaling between the others, which breaks their chain.
    if constexpr (D::kScalesEachColumn) {
      start<kThen>(then, slot);
      finish<kNow, 1>(sum, now);
      return;
    }
    const u64 da = a_of(slot), db = b_of<kThen>(slot);
    then.slot = slot;
    ptx::wgmma_use(then.value);
    ptx::wgmma_fence();
    multiply(then.value, da, db, 0);
    ptx::wgmma_commit();
    finish<kNow, 1>(sum, now);
#pragma unroll
    for (int i = 1; i < 4; ++i) multiply(then.value, da, db, i);
    ptx::wgmma_commit();
    read_scales<kThen>(then);
  }

  DG_DEVICE static void clear(Sum& sum) {
#pragma unroll
    for (int i = 0; i < C.block_n / 2; ++i) sum[i] = 0.0f;
  }

  // The rows that differ in use, which are staged.
  DG_DEVICE void store_by_rows(u32 summed, i32 row) const {
    const sched::Tile tile = smem.board.at(summed).tile;
    u16* d = static_cast<u16*>(params.d_data) + tile.group * params.d_group;
    epi::copy_rows_by_use<u16, C.block_n>(sched::RowUses<C>{params}, tile, smem.stage[warp], d,
                                          params.d_row, params.n, row);
  }

  // Hands the sum to the storing warp, or stores it where that one cannot.
  DG_DEVICE void store(Sum& sum) {
    const u32 warpgroup = warp / 4, summed = number - 1;
    const i32 row = first_row + warp % 4 * 16;
    if (D::kHasPadding && (use & Fp8Handed::zeroed(warpgroup))) clear(sum);
    if constexpr (D::kStoresApart) {
      while (!ptx::mbarrier_try_wait(&smem.drained[warpgroup], number % 2)) {
      }
      const u32 by_rows = sched::kHasMixedRows<C> ? Fp8Handed::by_rows(warp) : 0;
      if (use & (Fp8Handed::copied(warp) | by_rows)) {
        epi::stage_rows_bf16<C.block_n>(sum, smem.stage[warp]);
        // Ordering: this warp's stmatrix, read by the copies of the storing warp.
        ptx::fence_proxy_async_shared();
        // Why asked of all lanes: where ptxas knows that a warp takes one way, its loop along K is
        // shorter.
        if constexpr (sched::kHasMixedRows<C>) {
          if (__any_sync(0xffffffff, use & by_rows)) store_by_rows(summed, row);
        }
      }
    } else {
      const sched::Tile tile = smem.board.at(summed).tile;
      epi::store_tile<C>(sched::Schedule<C>(params, 0), tile, sum, smem.stage[warp], params, row);
    }
    ptx::warp_sync();
    if (lane == 0) ptx::mbarrier_arrive(&smem.staged[warpgroup]);
  }

  // Behind the start of a tile's products: the tile before is stored.
  DG_DEVICE void begin_tile(Sum& sum) {
    if (use != 0) store(sum);
    clear(sum);
    ++number;
    use = next_use;
    next_use = smem.board.wait(number).use;
  }

  DG_DEVICE u32 slot_of_two(const One& one) { return C.n_parts == 1 ? take() : one.slot; }

  DG_DEVICE void run() {
    next_use = smem.board.wait(0).use;
    if (next_use == 0) return;
    Sum sum;
    One one;
    Two two;
    start<0>(one, take());
    while (true) {
      start<kSecond>(two, slot_of_two(one));
      begin_tile(sum);
      finish<0, 1>(sum, one);
#pragma unroll 1
      for (i32 i = 1; i < pairs; ++i) {
        turn<0, kSecond>(sum, one, take(), two);
        turn<kSecond, 0>(sum, two, slot_of_two(one), one);
      }
      // Never taken. Without a branch here ptxas (13.0) waits for every wgmma where it is issued.
      if (params.band < 0) {
        ptx::wgmma_wait<0>();
        return;
      }
      if (next_use == 0) break;
      turn<0, kSecond>(sum, one, take(), two);
    }
    finish<kSecond, 0>(sum, two);
    store(sum);
    ptx::bulk_wait<0>();
  }
};

// ---- Body: initialise, then one if/else over roles ----
template <TileConfig C>
DG_DEVICE void fp8_gemm(const GemmParams& params, u8* shared) {
  using D = Fp8Derived<C>;
  Fp8Smem<C>& smem = layout::shared_struct<Fp8Smem<C>>(shared);
  const u32 warpgroup = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
  const u32 rank = C.cluster == 1 ? 0 : ptx::cluster_rank();
  if (threadIdx.x == 0) {
    ptx::prefetch_tensor_map(&params.a);
    ptx::prefetch_tensor_map(&params.b);
    ptx::prefetch_tensor_map(&params.d);
    for (int i = 0; i < Fp8Board::kTiles; ++i) ptx::mbarrier_init(&smem.board.full[i], 1);
    for (int i = 0; i < C.math_warpgroups; ++i) {
      ptx::mbarrier_init(&smem.staged[i], 4);
      ptx::mbarrier_init(&smem.drained[i], 1);
    }
    smem.ring.init(1 + D::kScaleWarps, 4 * C.math_warpgroups);
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
    if (warp == 0) {
      Fp8Copy<C>::run(params, smem, rank);
    } else if (warp <= D::kScaleWarps) {
      Fp8Scales<C>(params, smem, threadIdx.x % 128 - 32).run();
    } else {
      Fp8Store<C>(params, smem, rank, threadIdx.x % 32).run();
    }
    ptx::warp_sync();
  } else {
    ptx::acquire_registers<D::kMathRegs>();
    Fp8Math<C>(params, smem, warpgroup).run();
  }
  ptx::griddep_launch();
  if constexpr (C.cluster >
                1) {  // a neighbour may still copy into this block or arrive on its barriers
    ptx::cluster_arrive_relaxed();
    ptx::cluster_wait();
  }
}

}  // namespace deep_gemm::sm90
