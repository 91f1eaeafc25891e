// FP8 GEMM with block scales, Hopper.            stem: fp8_gemm
//   d[m,n] = sum over kb of  a_scale[m,kb] * b_scale[n/128,kb] * dot(a[m,kb], b[n,kb])
// Grid: persistent, one block per SM, whole clusters.  Roles: 1 loader warpgroup, 1-3 math
// warpgroups. The tensor cores sum one block of 128 along K from zero; the fp32 sum over blocks is
// kept beside it, blocks in ascending order. K tails arrive as zeros; m and n tails are cut at the
// store. Dependent launch: waits before the first global read, releases after the last store.
#pragma once

#include <deep_gemm/abi/gemm_params.h>
#include <deep_gemm/epi/store_rows.cuh>
#include <deep_gemm/epi/store_tma.cuh>
#include <deep_gemm/layout/smem_tile.cuh>
#include <deep_gemm/pipe/ring.cuh>
#include <deep_gemm/ptx/griddep.cuh>
#include <deep_gemm/ptx/regs.cuh>
#include <deep_gemm/ptx/tma.cuh>
#include <deep_gemm/ptx/wgmma.cuh>
#include <deep_gemm/sched/m_grouped.cuh>
#include <deep_gemm/sm90/fp8_gemm_tile.cuh>

namespace deep_gemm::sm90 {

// ---- Contract, Derived, Shared memory, Barriers: fp8_gemm_tile.cuh ----
// ---- Roles: each reads top to bottom as one program ----
// A warp schedules and one of its threads copies A and B; a block of a cluster brings its part of the shared operand to all.
template <TileConfig C>
struct Fp8Copy {
  using D = Fp8Derived<C>;

  DG_DEVICE static void load(void* slot, const TensorMap& map, u64* bar, i32 k, i32 row,
                             bool shared) {
    if (shared) {
      ptx::tma_load_2d_multicast(slot, &map, bar, k, row, static_cast<u16>((1 << C.cluster) - 1));
    } else {
      ptx::tma_load_2d(slot, &map, bar, k, row);
    }
  }

  DG_DEVICE static void run(const GemmParams& params, Fp8Smem<C>& smem, u32 rank) {
    constexpr bool kShareA = C.share == Share::A, kShareB = C.share == Share::B;
    const u32 a_part = kShareA ? rank * D::kABoxRows : 0;
    const u32 b_part = kShareB ? rank * D::kBBoxRows : 0;
    const i32 k_blocks = sched::ceil_div(params.k, C.block_k);
    sched::Schedule<C> schedule(params, rank);
    pipe::Cursor<C.stages> at;
    sched::Tile tile;
    const bool is_copier = ptx::elect_one();
    while (schedule.next(tile)) {
      if (!is_copier) continue;
      const i32 a_row = tile.row + a_part;
      const i64 b_row = static_cast<i64>(schedule.group(tile)) * params.n + tile.col + b_part;
      for (i32 kb = 0; kb < k_blocks; ++kb, at.advance()) {
        smem.ring.wait_empty(at);
        smem.ring.expect(at, D::kABytes + D::kBBytes);
        u64* bar = smem.ring.full_bar(at);
        load(smem.a[at.slot] + a_part * C.block_k, params.a, bar, kb * C.block_k, a_row, kShareA);
        load(smem.b[at.slot] + b_part * C.block_k, params.b, bar, kb * C.block_k,
             static_cast<i32>(b_row), kShareB);
      }
    }
  }
};

// Two warps bring the scales of a slot: rows of A as they lie in memory, B's spread over columns.
// They read windows of four slots, one window ahead, a contiguous row in one access of 16 bytes.
template <TileConfig C>
struct Fp8Scales {
  using D = Fp8Derived<C>;
  static constexpr int kWindow = D::kScaleRows > 2 ? 1 : 4;  // what 40 registers hold twice
  using Values = float[D::kScaleRows + 1][kWindow];

  const GemmParams& params;
  Fp8Smem<C>& smem;
  const u32 lane;
  const i32 k_blocks;
  sched::Schedule<C> schedule;
  const float* a[D::kScaleRows];  // this lane's rows and column of the tile
  const float* b;

  DG_DEVICE Fp8Scales(const GemmParams& p, Fp8Smem<C>& s, u32 rank, u32 l)
      : params(p), smem(s), lane(l), k_blocks(sched::ceil_div(p.k, C.block_k)), schedule(p, rank) {}

  DG_DEVICE bool next_tile() {
    sched::Tile tile;
    if (!schedule.next(tile)) return false;
#pragma unroll
    for (int i = 0; i < D::kScaleRows; ++i) {
      const i32 row =
          min(tile.local_row + static_cast<i32>(lane) + 32 * D::kScaleWarps * i, params.m - 1);
      a[i] = params.a_scale + tile.group * params.a_scale_group + row * params.a_scale_row;
    }
    const i32 span = min(static_cast<i32>(lane), D::kBScales - 1) * D::kScaleSpan;
    const i32 block = min(tile.col + span, params.n - 1) / 128;
    b = params.b_scale + schedule.group(tile) * params.b_scale_group + block * params.b_scale_block;
    return true;
  }

  DG_DEVICE void read(i32 kb, Values& v) const {
#pragma unroll
    for (int i = 0; i < D::kScaleRows; ++i) {
      if (kWindow == 4 && params.a_scale_vector) {
        const ptx::Floats4 f = ptx::load_global_floats4(a[i] + kb);
        v[i][0] = f.x, v[i][1 % kWindow] = f.y, v[i][2 % kWindow] = f.z, v[i][3 % kWindow] = f.w;
      } else {
#pragma unroll
        for (int j = 0; j < kWindow; ++j) {
          v[i][j] = ptx::load_global(a[i] + min(kb + j, k_blocks - 1) * params.a_scale_k);
        }
      }
    }
#pragma unroll
    for (int j = 0; j < kWindow; ++j) {
      v[D::kScaleRows][j] = ptx::load_global(b + min(kb + j, k_blocks - 1) * params.b_scale_k);
    }
  }

  DG_DEVICE void publish(pipe::Cursor<C.stages>& at, const Values& v, int j) {
    smem.ring.wait_empty(at);
#pragma unroll
    for (int i = 0; i < D::kScaleRows; ++i) {
      smem.a_scale[at.slot][lane + 32 * D::kScaleWarps * i] = v[i][j];
    }
    if (lane < D::kBScales) smem.b_scale[at.slot][lane] = v[D::kScaleRows][j];
    smem.ring.publish(at, lane % 32);
    at.advance();
  }

  DG_DEVICE void run() {
    if (!next_tile()) return;
    pipe::Cursor<C.stages> at;
    Values now, next;
    read(0, now);
    bool more = true;
    i32 kb = 0;
    while (more) {
      const i32 filled = min(k_blocks - kb, kWindow);
      kb += kWindow;
#pragma unroll
      for (int j = 0; j < kWindow; ++j) {
        if (j < filled) publish(at, now, j);
        if (j == 0) {  // behind the first slot, which the math warps may be waiting for
          if (kb >= k_blocks) {
            kb = 0;
            more = next_tile();
          }
          if (more) read(kb, next);
        }
      }
#pragma unroll
      for (int i = 0; i <= D::kScaleRows; ++i) {
#pragma unroll
        for (int j = 0; j < kWindow; ++j) now[i][j] = next[i][j];
      }
    }
  }
};

// A warpgroup multiplies its rows of the tile, part by part, and scales each product into its sum.
template <TileConfig C>
struct Fp8Math {
  using D = Fp8Derived<C>;
  using Smem = Fp8Smem<C>;
  using Cursor = pipe::Cursor<C.stages>;
  using Mma = ptx::Wgmma<ptx::MmaType::E4M3, D::kPartN>;
  using Product = float[D::kPartN / 2];

  struct Scales {  // of this thread's two rows, and of the part's columns
    float row[2];
    float col[D::kPartScales];
  };

  DG_DEVICE static u32 lane() { return threadIdx.x % 32; }
  DG_DEVICE static u32 warp() { return threadIdx.x / 32; }

  // One block of 128 along K. a, b: descriptors of this warpgroup's part of slot 0.
  DG_DEVICE static void issue(Product& product, u64 a, u64 b, u32 slot) {
    a += slot * layout::descriptor_bytes(D::kABytes);
    b += slot * layout::descriptor_bytes(D::kBBytes);
    ptx::wgmma_use(product);
    ptx::wgmma_fence();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      Mma::ss(product, a + layout::descriptor_bytes(32 * i), b + layout::descriptor_bytes(32 * i),
              i > 0);
    }
    ptx::wgmma_commit();
  }

  DG_DEVICE static Scales read_scales(const Smem& smem, u32 slot, u32 scale_row, int part) {
    const u32 rows = ptx::shared_address(&smem.a_scale[slot][scale_row + part / C.n_parts * 64]);
    const u32 cols = ptx::shared_address(&smem.b_scale[slot][part % C.n_parts * D::kPartScales]);
    Scales s;
    s.row[0] = ptx::load_shared(rows);
    s.row[1] = ptx::load_shared(rows + 8 * sizeof(float));
#pragma unroll
    for (int i = 0; i < D::kPartScales; ++i) s.col[i] = ptx::load_shared(cols + i * sizeof(float));
    return s;
  }

  DG_DEVICE static void promote(Product& sum, const Product& product, Scales s) {
    ptx::wgmma_hold(s.row[0]);
    ptx::wgmma_hold(s.row[1]);
    float s0[D::kPartScales], s1[D::kPartScales];
#pragma unroll
    for (int i = 0; i < D::kPartScales; ++i)
      s0[i] = s.row[0] * s.col[i], s1[i] = s.row[1] * s.col[i];
#pragma unroll
    for (int j = 0; j < D::kPartN / 8; ++j) {
      const int i = j * 8 / D::kScaleSpan;
      sum[4 * j] += s0[i] * product[4 * j];
      sum[4 * j + 1] += s0[i] * product[4 * j + 1];
      sum[4 * j + 2] += s1[i] * product[4 * j + 2];
      sum[4 * j + 3] += s1[i] * product[4 * j + 3];
    }
    ptx::wgmma_use(sum);  // none of this after the next wgmma, which overwrites the product
  }

  DG_DEVICE static void clear(Product& sum) {
#pragma unroll
    for (int i = 0; i < D::kPartN / 2; ++i) sum[i] = 0.0f;
  }

  // Bit i: the i-th 64 rows of this warpgroup are padding.
  DG_DEVICE static u32 padding_parts(const sched::Schedule<C>& schedule, const sched::Tile& tile,
                                     u32 first_row) {
    u32 bits = 0;
#pragma unroll
    for (int i = 0; i < D::kMParts; ++i) {
      if (!schedule.computes(tile, tile.row + first_row + 64 * i)) bits |= 1u << i;
    }
    return bits;
  }

  DG_DEVICE static void store(const GemmParams& params, Smem& smem,
                              const sched::Schedule<C>& schedule, const sched::Tile& tile,
                              u32 padding, u32 first_row, Product (&sum)[D::kParts]) {
    constexpr int kPieces = (D::kPartN + 63) / 64;
#pragma unroll
    for (int part = 0; part < D::kParts; ++part) {
      const i32 row = first_row + part / C.n_parts * 64 + warp() % 4 * 16;
      if (padding >> (part / C.n_parts) & 1) clear(sum[part]);
      const i32 col = tile.col + part % C.n_parts * D::kPartN;
      if (tile.row + row >= tile.row_end) continue;
      if (schedule.is_whole(tile, tile.row + row)) {
        epi::store_rows_bf16<D::kPartN, C.store_slots>(sum[part], smem.stage[warp()],
                                                       part * kPieces, params.d, col,
                                                       tile.local_row + row, tile.group);
      } else {
        u16* d = static_cast<u16*>(params.d_data) + tile.group * params.d_group;
        epi::store_rows_by_use<D::kPartN>(schedule, tile, sum[part], d, params.d_row, col,
                                          params.n, row);
      }
    }
  }

  // What the K loop of a tile works with, fixed for the kernel's life.
  struct Place {
    u64 a, b;       // descriptors of this warpgroup's part of slot 0
    u32 scale_row;  // this thread's first row in a slot's scales
    u32 report;     // where this lane reports empty slots
    i32 k_blocks;
  };

  // The K loop with one product: each part waits for its own.
  template <class Once>
  DG_DEVICE static void loop_one(Smem& smem, const Place& place, Cursor& at,
                                 Product (&sum)[D::kParts], Once once) {
    for (i32 kb = 0; kb < place.k_blocks; ++kb) {
      smem.ring.wait_full(at);
#pragma unroll
      for (int part = 0; part < D::kParts; ++part) {
        Product product;
        issue(product, place.a + layout::descriptor_bytes(part / C.n_parts * 64 * C.block_k),
              place.b + layout::descriptor_bytes(part % C.n_parts * D::kPartN * C.block_k),
              at.slot);
        if (part == 0 && kb == 0) once();
        const Scales scales = read_scales(smem, at.slot, place.scale_row, part);
        ptx::wgmma_wait<0>();
        ptx::wgmma_use(product);
        if (part == D::kParts - 1) smem.ring.release(place.report, at.slot, lane());
        promote(sum[part], product, scales);
      }
      at.advance();
    }
  }

  // One block along K with two products: starts the next one, then scales this one into the sum.
  template <bool Last>
  DG_DEVICE static void step(Smem& smem, const Place& place, Cursor& at, Scales& scales,
                             Product& sum, Product& now, Product& then) {
    const Cursor here = at;
    const Scales mine = scales;
    at.advance();
    if constexpr (!Last) {
      smem.ring.wait_full(at);
      issue(then, place.a, place.b, at.slot);
      scales = read_scales(smem, at.slot, place.scale_row, 0);
      ptx::wgmma_wait<1>();
    } else {
      ptx::wgmma_wait<0>();
    }
    ptx::wgmma_use(now);
    smem.ring.release(place.report, here.slot, lane());
    promote(sum, now, mine);
  }

  // The first block of a tile, and what is done under its cover.
  template <class Once>
  DG_DEVICE static Scales start(Smem& smem, const Place& place, Cursor at, Product& product,
                                Once once) {
    smem.ring.wait_full(at);
    issue(product, place.a, place.b, at.slot);
    const Scales scales = read_scales(smem, at.slot, place.scale_row, 0);
    once();
    return scales;
  }

  // The K loop with two products, in pairs, so that each has its registers. A slot is held until
  // the next one has been issued: the ring is two slots shorter than it looks.
  template <class Once>
  DG_DEVICE static void loop_two(Smem& smem, const Place& place, Cursor& at,
                                 Product (&sum)[D::kParts], Once once) {
    Product even, odd;
    Scales scales = start(smem, place, at, even, once);
#pragma unroll 1
    for (i32 pairs = (place.k_blocks - 1) / 2; pairs > 0; --pairs) {
      step<false>(smem, place, at, scales, sum[0], even, odd);
      step<false>(smem, place, at, scales, sum[0], odd, even);
    }
    if (place.k_blocks % 2 == 0) {
      step<false>(smem, place, at, scales, sum[0], even, odd);
      step<true>(smem, place, at, scales, sum[0], odd, even);
    } else {
      step<true>(smem, place, at, scales, sum[0], even, odd);
    }
  }

  DG_DEVICE static void run(const GemmParams& params, Smem& smem, u32 rank, u32 warpgroup) {
    const u32 first_row = warpgroup * (C.block_m / C.math_warpgroups);
    const Place place{
        layout::swizzle128_descriptor(ptx::shared_address(smem.a[0] + first_row * C.block_k)),
        layout::swizzle128_descriptor(ptx::shared_address(smem.b[0])),
        first_row + warp() % 4 * 16 + lane() / 4, smem.ring.report_to(lane()),
        static_cast<i32>(sched::ceil_div(params.k, C.block_k))};
    sched::Schedule<C> schedule(params, rank);
    Cursor at;
    sched::Tile tile, next;
    bool more = schedule.next(tile);
    while (more) {
      Product sum[D::kParts];
      u32 padding = 0;
      auto once = [&] {  // what a tile needs once, while the first product is under way
#pragma unroll
        for (int i = 0; i < D::kParts; ++i) clear(sum[i]);
        padding = padding_parts(schedule, tile, first_row);
        more = schedule.next(next);
      };
      if constexpr (C.products == 2) {
        loop_two(smem, place, at, sum, once);
      } else {
        loop_one(smem, place, at, sum, once);
      }
      store(params, smem, schedule, tile, padding, first_row, sum);
      tile = next;
    }
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
      Fp8Scales<C>(params, smem, rank, threadIdx.x % 128 - 32).run();
    }
    ptx::warp_sync();
  } else {
    ptx::acquire_registers<D::kMathRegs>();
    Fp8Math<C>::run(params, smem, rank, warpgroup);
  }
  ptx::griddep_launch();
  if constexpr (C.cluster >
                1) {  // a neighbour may still copy into this block or arrive on its barriers
    ptx::cluster_arrive_relaxed();
    ptx::cluster_wait();
  }
}

}  // namespace deep_gemm::sm90
