// Hyper-connection product and square sums, Hopper.            stem: tf32_hc_prenorm_gemm
//   d[s,m,n] = sum over k in split s of a[m,k] * tf32(b[n,k]);   sqr_sum[s,m] = sum over k of
//   a[m,k]^2
// Grid: {cluster * splits, lanes}; a cluster keeps one split and walks row tiles.  Roles: 1 copying
// warp, 3 or 7 converting warps, 1-2 math warpgroups. A is bf16 and TF32(b) is exactly a sum of two
// bf16 values: the tensor cores multiply A by both terms side by side along N, from one copy of A
// that the math threads also read for the squares. A row of A that holds an infinity gives NaN
// where a low term is zero. Dependent launch: waits before the first global read, releases after
// the last store. Longer than usual: three roles share one ring, and reading them apart would hide
// it.
#pragma once

#include <deep_gemm/abi/hc_params.h>
#include <deep_gemm/layout/smem_tile.cuh>
#include <deep_gemm/numeric/tf32.cuh>
#include <deep_gemm/pipe/ring.cuh>
#include <deep_gemm/ptx/exchange.cuh>
#include <deep_gemm/ptx/griddep.cuh>
#include <deep_gemm/ptx/tma.cuh>
#include <deep_gemm/ptx/wgmma.cuh>

namespace deep_gemm::sm90 {

// ---- Contract: what a plan may ask for ----
template <HcConfig C>
struct HcContract {
  static_assert(C.n >= 8 && C.n <= 32 && C.n % 8 == 0,
                "N_ATOM: whole groups of 8 columns, at most 32");
  static_assert(C.math_warpgroups == 1 || C.math_warpgroups == 2, "MATH_WARPGROUPS: 1 or 2");
  static_assert(C.a_stages >= 2 && C.b_slots >= 2 && C.raw_depth >= 1,
                "RING_DEPTH: load and math must overlap");
  static_assert(C.converters == 3 || C.converters == 7,
                "CONVERTERS: whole warpgroups with the copying warp");
  static_assert(C.cluster >= 1 && C.cluster <= 16, "CLUSTER: at most 16 blocks");
};

// ---- Derived: numbers that follow from the configuration ----
template <HcConfig C>
struct HcDerived : HcContract<C> {
  static constexpr int kMathThreads = 128 * C.math_warpgroups, kMathWarps = 4 * C.math_warpgroups;
  static constexpr int kThreads = kMathThreads + 32 * (C.converters + 1);
  static constexpr int kRows = 64 * C.math_warpgroups;
  static constexpr int kBlockK = 64;
  static constexpr int kABytes = kRows * 128;          // bf16
  static constexpr int kRawBytes = C.n * kBlockK * 4;  // fp32
  static constexpr int kBBytes = 2 * C.n * 128;        // two bf16 terms
  static_assert(!C.b_at_once || C.raw_depth == 1);
  static constexpr int kOutRows = C.cluster == 1 ? 1 : kRows;
};

// ---- Shared memory: one struct, order is the layout ----
template <HcConfig C>
struct HcSmem {
  using D = HcDerived<C>;
  alignas(1024) u8 a[C.a_stages][D::kABytes];  // 128-byte swizzle
  alignas(1024) u8 b[C.b_slots][D::kBBytes];   // 128-byte swizzle; high terms, then low terms
  alignas(1024) u8 raw[C.converters][C.raw_depth][C.b_at_once ? 16 : D::kRawBytes];
  // A block's sums, for its cluster; tiles alternate.
  alignas(16) float out[2][D::kOutRows][C.n];
  alignas(16) float out_squares[2][D::kOutRows];
  pipe::Ring<C.a_stages> a_ring;            // full: the copying thread; empty: every math warp
  pipe::Ring<C.b_slots> b_ring;             // full: the converting warp; empty: every math warp
  u64 raw_full[C.converters][C.raw_depth];  // the converting warp itself
  u64 sums_ready;                           // every math warp of the cluster, once a tile
};

// ---- Barriers: none by name ----

// What one block works on: K blocks [first, first + count) of a split.
struct HcShare {
  i32 split, lane, first, count;
  bool resident;  // the share's B fits in b_slots: converted once, for all tiles
};

// The i-th even piece where each has `base` and the first `extra` have one more.
DG_DEVICE void hc_piece(i32 base, i32 extra, i32 i, i32& first, i32& count) {
  first = i * base + min(i, extra);
  count = base + (i < extra ? 1 : 0);
}

template <HcConfig C>
DG_DEVICE HcShare hc_share(const HcParams& params, u32 rank) {
  HcShare share;
  share.split = static_cast<i32>(blockIdx.x) / C.cluster;
  share.lane = static_cast<i32>(blockIdx.y);
  i32 first, count, inner;
  hc_piece(params.split_blocks, params.split_extra, share.split, first, count);
  hc_piece(count / C.cluster, count % C.cluster, static_cast<i32>(rank), inner, share.count);
  share.first = first + inner;
  share.resident = share.count <= C.b_slots;
  return share;
}

// ---- Roles: each reads top to bottom as one program ----
// One thread streams A; it fills the ring before the block meets, since nothing else is needed for
// that. Its warp makes the ring.
template <HcConfig C>
struct HcCopy {
  using D = HcDerived<C>;
  i32 tile, kb;
  pipe::Cursor<C.a_stages> at;

  DG_DEVICE bool more(const HcParams& params, const HcShare& share) const {
    return tile < params.tiles && share.count > 0;
  }

  DG_DEVICE void copy(const HcParams& params, HcSmem<C>& smem, const HcShare& share) {
    smem.a_ring.expect(at, D::kABytes);
    ptx::tma_load_2d(smem.a[at.slot], &params.a, smem.a_ring.full_bar(at),
                     (share.first + kb) * D::kBlockK, tile * D::kRows,
                     ptx::CachePolicy::EvictFirst);
    at.advance();
    if (++kb == share.count) {
      kb = 0;
      tile += params.lanes;
    }
  }

  DG_DEVICE void begin(const HcParams& params, HcSmem<C>& smem, const HcShare& share, u32 lane) {
    tile = share.lane;
    kb = 0;
    smem.a_ring.init(1, D::kMathWarps, lane);
    ptx::warp_sync();
    if (lane != 0) return;
    for (int i = 0; i < C.a_stages && more(params, share); ++i) copy(params, smem, share);
  }

  DG_DEVICE void run(const HcParams& params, HcSmem<C>& smem, const HcShare& share) {
    while (more(params, share)) {
      smem.a_ring.wait_empty(at);
      copy(params, smem, share);
    }
  }
};

// Each warp takes every third (seventh) block of B: copies it, splits it into two bf16 terms,
// publishes it.
template <HcConfig C>
struct HcConvert {
  using D = HcDerived<C>;

  DG_DEVICE static void copy(const HcParams& params, HcSmem<C>& smem, const HcShare& share,
                             u32 warp, u32 slot, i32 block) {
    u64* bar = &smem.raw_full[warp][slot];
    ptx::mbarrier_arrive_expect_tx(bar, D::kRawBytes);
    ptx::tma_load_2d(smem.raw[warp][slot], &params.b, bar,
                     (share.first + block % share.count) * D::kBlockK, 0);
  }

  // Row r of a raw block, values 4 * quad ..., as two bf16 terms.
  template <class Split>
  DG_DEVICE static void store_terms(u32 b, u32 row, u32 quad, const ptx::Words4& x,
                                    const Split& split) {
    const numeric::Bf16Pair p0 = split(x.x), p1 = split(x.y), p2 = split(x.z), p3 = split(x.w);
    const u32 target = b + layout::swizzle128(row, quad / 2) + quad % 2 * 8;
    ptx::store_shared(target, numeric::pack_high_halves(p0.high, p1.high),
                      numeric::pack_high_halves(p2.high, p3.high));
    ptx::store_shared(target + C.n * layout::kRowBytes, numeric::pack_high_halves(p0.low, p1.low),
                      numeric::pack_high_halves(p2.low, p3.low));
  }

  // A half warp has one row of 64 values; a lane 4 of them. Values that are not finite are rare and
  // cost a second pass.
  DG_DEVICE static void convert(u32 raw, u32 b, u32 lane) {
    const u32 half = lane / 16, quad = lane % 16, source = raw + half * 256 + quad * 16;
    ptx::Words4 x[C.n / 2];
    bool all_finite = true;
#pragma unroll
    for (u32 i = 0; i < C.n / 2; ++i) x[i] = ptx::load_shared_words4(source + i * 512);
#pragma unroll
    for (u32 i = 0; i < C.n / 2; ++i) {
      all_finite &= numeric::finite(x[i].x) & numeric::finite(x[i].y) & numeric::finite(x[i].z) &
                    numeric::finite(x[i].w);
      store_terms(b, 2 * i + half, quad, x[i],
                  [](u32 bits) { return numeric::split_finite_tf32(bits); });
    }
    if (all_finite) return;
#pragma unroll 1
    for (u32 i = 0; i < C.n / 2; ++i) {
      store_terms(b, 2 * i + half, quad, ptx::load_shared_words4(source + i * 512),
                  [](u32 bits) { return numeric::split_tf32(bits); });
    }
  }

  DG_DEVICE static i32 count_blocks(const HcParams& params, const HcShare& share) {
    return share.count *
           (share.resident ? 1 : (params.tiles - share.lane + params.lanes - 1) / params.lanes);
  }

  // One lane, before the block meets.
  DG_DEVICE static void begin(const HcParams& params, HcSmem<C>& smem, const HcShare& share,
                              u32 warp) {
    for (int i = 0; i < C.raw_depth; ++i) ptx::mbarrier_init(&smem.raw_full[warp][i], 1);
    ptx::fence_mbarrier_init();
    const i32 blocks = count_blocks(params, share);
    for (i32 i = 0; i < C.raw_depth; ++i) {
      const i32 block = static_cast<i32>(warp) + C.converters * i;
      if (block < blocks) copy(params, smem, share, warp, i, block);
    }
  }

  DG_DEVICE static void run(const HcParams& params, HcSmem<C>& smem, const HcShare& share, u32 warp,
                            u32 lane) {
    const i32 blocks = count_blocks(params, share);
    pipe::Cursor<C.raw_depth> from;
    pipe::Cursor<C.b_slots> to;
    for (i32 block = 0; block < blocks; ++block, to.advance()) {
      if (block % C.converters != static_cast<i32>(warp)) continue;
      while (!ptx::mbarrier_try_wait(&smem.raw_full[warp][from.slot], from.phase)) {
      }
      if (!share.resident) smem.b_ring.wait_empty(to);
      convert(ptx::shared_address(smem.raw[warp][from.slot]), ptx::shared_address(smem.b[to.slot]),
              lane);
      // Ordering: these lanes' stores to b come before the math warps' wgmma reads of it.
      ptx::fence_proxy_async_shared();
      smem.b_ring.publish(to, lane);
      const i32 next = block + C.converters * C.raw_depth;
      if (lane == 0 && next < blocks) copy(params, smem, share, warp, from.slot, next);
      from.advance();
    }
  }
};

// All threads but the copying warp's split the share's B, eight values a thread and turn.
template <HcConfig C>
struct HcSplitAtOnce {
  using D = HcDerived<C>;
  static constexpr int kBatch = 4;  // loads under way together

  DG_DEVICE static u32 pair(float x, float y, u32& low) {
    const numeric::Bf16Pair p = numeric::split_tf32(__float_as_uint(x));
    const numeric::Bf16Pair q = numeric::split_tf32(__float_as_uint(y));
    low = numeric::pack_high_halves(p.low, q.low);
    return numeric::pack_high_halves(p.high, q.high);
  }

  DG_DEVICE static void run(const HcParams& params, HcSmem<C>& smem, const HcShare& share) {
    const i32 thread = static_cast<i32>(threadIdx.x);
    const i32 self = thread < D::kMathThreads ? thread : thread - 32;
    const i32 units = share.count * C.n * 8;  // of 8 values
    const float* b = params.b_data + static_cast<i64>(share.first) * D::kBlockK;
#pragma unroll 1
    for (i32 first = self; first < units; first += (D::kThreads - 32) * kBatch) {
      ptx::Floats4 x[kBatch][2];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const i32 unit = first + i * (D::kThreads - 32), row = unit / 8 % C.n;
        const float* p = b + row * params.b_stride + unit / (8 * C.n) * D::kBlockK + unit % 8 * 8;
        if (unit < units) {
          x[i][0] = ptx::load_global_floats4(p);
          x[i][1] = ptx::load_global_floats4(p + 4);
        }
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const i32 unit = first + i * (D::kThreads - 32), row = unit / 8 % C.n;
        if (unit >= units) break;
        ptx::Words4 high, low;
        high.x = pair(x[i][0].x, x[i][0].y, low.x);
        high.y = pair(x[i][0].z, x[i][0].w, low.y);
        high.z = pair(x[i][1].x, x[i][1].y, low.z);
        high.w = pair(x[i][1].z, x[i][1].w, low.w);
        u8* slot = smem.b[unit / (8 * C.n)] + layout::swizzle128(row, unit % 8);
        *reinterpret_cast<ptx::Words4*>(slot) = high;
        *reinterpret_cast<ptx::Words4*>(slot + C.n * layout::kRowBytes) = low;
      }
    }
    // Ordering: these stores come before the math warps' wgmma reads, across the block's barrier.
    ptx::fence_proxy_async_shared();
  }
};

// A warpgroup multiplies its 64 rows and sums their squares while the tensor cores work.
template <HcConfig C>
struct HcMath {
  using D = HcDerived<C>;
  using Mma = ptx::Wgmma<ptx::MmaType::BF16, 2 * C.n>;
  using Product = float[C.n];  // high terms' sums, then low terms'

  // Two threads a row: a thread's four 16-byte chunks of a slot.
  struct Chunks {
    u32 offset[4];
    DG_DEVICE explicit Chunks(u32 thread) {
      const u32 row = thread / 2;
#pragma unroll
      for (u32 c = 0; c < 4; ++c) offset[c] = layout::swizzle128(row, thread % 2 * 4 + c);
    }
  };

  DG_DEVICE static void issue(Product& product, u64 a, u64 b) {
    ptx::wgmma_use(product);
    ptx::wgmma_fence();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      Mma::ss(product, a + layout::descriptor_bytes(32 * i), b + layout::descriptor_bytes(32 * i),
              true);
    }
    ptx::wgmma_commit();
    ptx::wgmma_use(product);
  }

  DG_DEVICE static void add_squares(u32 a, const Chunks& chunks, float (&squares)[4]) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const ptx::Words4 v = ptx::load_shared_words4(a + chunks.offset[c]);
      numeric::add_squares_bf16(v.x, squares[0], squares[1]);
      numeric::add_squares_bf16(v.y, squares[2], squares[3]);
      numeric::add_squares_bf16(v.z, squares[0], squares[1]);
      numeric::add_squares_bf16(v.w, squares[2], squares[3]);
    }
  }

  // Straight to memory: this block's sums are the result.
  DG_DEVICE static void store(const HcParams& params, const HcShare& share, i32 tile,
                              const Product& product, float squares) {
    const u32 lane = threadIdx.x % 32;
    const i32 row = tile * D::kRows + threadIdx.x / 32 * 16 + lane / 4;
    const i64 first = static_cast<i64>(share.split) * params.m;
    float* d = params.d + (first + row) * C.n + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < C.n / 8; ++j) {
      const float* high = product + 4 * j;
      const float* low = high + C.n / 2;
      if (row < params.m)
        ptx::store_global(d + 8 * j, ptx::Floats2{high[0] + low[0], high[1] + low[1]});
      if (row + 8 < params.m) {
        ptx::store_global(d + 8 * (C.n + j), ptx::Floats2{high[2] + low[2], high[3] + low[3]});
      }
    }
    const i32 square_row = tile * D::kRows + threadIdx.x / 2;
    if (threadIdx.x % 2 == 0 && square_row < params.m) params.sqr_sum[first + square_row] = squares;
  }

  // To shared memory, for the cluster.
  DG_DEVICE static void publish(HcSmem<C>& smem, u32 turn, const Product& product, float squares) {
    const u32 lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
#pragma unroll
    for (int j = 0; j < C.n / 8; ++j) {
      const float* high = product + 4 * j;
      const float* low = high + C.n / 2;
      float* out = &smem.out[turn][row][8 * j + lane % 4 * 2];
      out[0] = high[0] + low[0];
      out[1] = high[1] + low[1];
      out[8 * C.n] = high[2] + low[2];
      out[8 * C.n + 1] = high[3] + low[3];
    }
    if (threadIdx.x % 2 == 0) smem.out_squares[turn][threadIdx.x / 2] = squares;
    ptx::warp_sync();
    if (lane < C.cluster) {
      ptx::mbarrier_arrive_release_cluster(ptx::map_shared_address(&smem.sums_ready, lane));
    }
  }

  // Adds the cluster's sums in the order of its blocks; each block has its part of the rows.
  DG_DEVICE static void reduce(const HcParams& params, HcSmem<C>& smem, const HcShare& share,
                               i32 tile, u32 turn, u32 rank) {
    constexpr u32 kPart = D::kRows / C.cluster, kQuads = C.n / 4;
    const i32 row0 = tile * D::kRows + rank * kPart;
    const i64 first = static_cast<i64>(share.split) * params.m;
    for (u32 i = threadIdx.x; i < kPart * kQuads; i += D::kMathThreads) {
      const i32 row = row0 + i / kQuads;
      ptx::Floats4 sum{0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
      for (u32 block = 0; block < C.cluster; ++block) {
        const float* part = &smem.out[turn][rank * kPart + i / kQuads][i % kQuads * 4];
        const ptx::Floats4 v = ptx::load_cluster_floats4(ptx::map_shared_address(part, block));
        sum = {sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w};
      }
      if (row < params.m) ptx::store_global(params.d + (first + row) * C.n + i % kQuads * 4, sum);
    }
    if (threadIdx.x < kPart) {
      float sum = 0.0f;
#pragma unroll
      for (u32 block = 0; block < C.cluster; ++block) {
        const float* part = &smem.out_squares[turn][rank * kPart + threadIdx.x];
        sum += ptx::load_cluster(ptx::map_shared_address(part, block));
      }
      const i32 row = row0 + threadIdx.x;
      if (row < params.m) params.sqr_sum[first + row] = sum;
    }
  }

  DG_DEVICE static void run(const HcParams& params, HcSmem<C>& smem, const HcShare& share, u32 rank,
                            u32 warpgroup) {
    const u32 lane = threadIdx.x % 32;
    const u32 a_address = ptx::shared_address(smem.a[0] + warpgroup * 64 * layout::kRowBytes);
    const u64 a_desc = layout::swizzle128_descriptor(a_address);
    const u64 b_desc = layout::swizzle128_descriptor(ptx::shared_address(smem.b[0]));
    const u32 a_report = smem.a_ring.report_to(lane), b_report = smem.b_ring.report_to(lane);
    const Chunks chunks(threadIdx.x % 128);
    pipe::Cursor<C.a_stages> at;
    pipe::Cursor<C.b_slots> b_at;
    u32 tile_count = 0;
    for (i32 tile = share.lane; tile < params.tiles; tile += params.lanes, ++tile_count) {
      Product product;
      float squares[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
      for (int i = 0; i < C.n; ++i) product[i] = 0.0f;
      if (share.resident) b_at = {};
      for (i32 kb = 0; kb < share.count; ++kb, at.advance(), b_at.advance()) {
        if constexpr (!C.b_at_once)
          if (!share.resident || tile_count == 0) smem.b_ring.wait_full(b_at);
        smem.a_ring.wait_full(at);
        issue(product, a_desc + at.slot * layout::descriptor_bytes(D::kABytes),
              b_desc + b_at.slot * layout::descriptor_bytes(D::kBBytes));
        add_squares(a_address + at.slot * D::kABytes, chunks, squares);
        ptx::wgmma_wait<0>();
        ptx::wgmma_use(product);
        smem.a_ring.release(a_report, at.slot, lane);
        if (!share.resident) smem.b_ring.release(b_report, b_at.slot, lane);
      }
      float square = (squares[0] + squares[1]) + (squares[2] + squares[3]);
      square += __shfl_xor_sync(0xffffffff, square, 1);
      if constexpr (C.cluster == 1) {
        store(params, share, tile, product, square);
      } else {
        publish(smem, tile_count % 2, product, square);
        // A block is here for tile t only after every block has read its sums of tile t - 2.
        while (!ptx::mbarrier_try_wait_cluster(&smem.sums_ready, tile_count % 2)) {
        }
        reduce(params, smem, share, tile, tile_count % 2, rank);
      }
    }
  }
};

// ---- Body: initialise, then one if/else over roles ----
template <HcConfig C>
DG_DEVICE void tf32_hc_prenorm_gemm(const HcParams& params, u8* shared) {
  using D = HcDerived<C>;
  HcSmem<C>& smem = layout::shared_struct<HcSmem<C>>(shared);
  const u32 warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  const u32 rank = C.cluster == 1 ? 0 : ptx::cluster_rank();
  const u32 lane = threadIdx.x % 32, converter = warp - D::kMathWarps - 1;
  if (warp == D::kMathWarps && lane == 0) ptx::prefetch_tensor_map(&params.a);
  if (warp == 0) {
    if constexpr (!C.b_at_once) smem.b_ring.init(1, D::kMathWarps, lane);
    if (C.cluster > 1 && lane == 0) {
      ptx::mbarrier_init(&smem.sums_ready, D::kMathWarps * C.cluster);
      ptx::fence_mbarrier_init();
    }
  }
  const HcShare share = hc_share<C>(params, rank);
  ptx::griddep_wait();
  HcCopy<C> copy;
  if (warp == D::kMathWarps) copy.begin(params, smem, share, lane);
  if constexpr (C.b_at_once) {
    if (warp != D::kMathWarps) HcSplitAtOnce<C>::run(params, smem, share);
  } else if (warp > D::kMathWarps && lane == 0) {
    HcConvert<C>::begin(params, smem, share, converter);
  }
  __syncthreads();
  if constexpr (C.cluster > 1) {
    ptx::cluster_arrive_relaxed();
    ptx::cluster_wait();
  }
  if (warp == D::kMathWarps) {
    if (lane == 0) copy.run(params, smem, share);
    ptx::warp_sync();
  } else if (warp > D::kMathWarps) {
    if constexpr (!C.b_at_once) HcConvert<C>::run(params, smem, share, converter, lane);
  } else {
    HcMath<C>::run(params, smem, share, rank, warp / 4);
  }
  ptx::griddep_launch();
  if constexpr (C.cluster >
                1) {  // a neighbour may still read this block's sums or arrive on its barrier
    ptx::cluster_arrive_relaxed();
    ptx::cluster_wait();
  }
}

}  // namespace deep_gemm::sm90
