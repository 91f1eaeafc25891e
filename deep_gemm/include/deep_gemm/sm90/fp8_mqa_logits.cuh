// Indexer logits over contiguous keys, Hopper.            stem: fp8_mqa_logits
//   logits[i,j] = kv_scale[j] * sum over h of  weights[i,h] * max(0, dot(q[i,h], kv[j]))   for
//   starts[i] <= j < ends[i]
// Grid: persistent, one block per SM, equal shares of the key tiles.  Roles: 1 copying warp, 1 warp
// for weights and bounds, 2 filling warps (-inf beside the tiles), 3-4 math warpgroups. A math
// warpgroup multiplies 64 keys by 128 (query, head) pairs, then weighs and sums while others
// multiply; a thread holds a quarter of the heads of two keys, so ReLU, weights and most of the sum
// stay in registers. Dependent launch: waits before the first global read, releases after the last
// store.
#pragma once

#include <deep_gemm/abi/mqa_params.h>
#include <deep_gemm/layout/swizzled_rows.cuh>
#include <deep_gemm/pipe/ring.cuh>
#include <deep_gemm/ptx/bf16_pairs.cuh>
#include <deep_gemm/ptx/exchange.cuh>
#include <deep_gemm/ptx/griddep.cuh>
#include <deep_gemm/ptx/regs.cuh>
#include <deep_gemm/ptx/tma.cuh>
#include <deep_gemm/ptx/wgmma.cuh>
#include <deep_gemm/sched/logits.cuh>

namespace deep_gemm::sm90 {

// ---- Contract: what a plan may ask for ----
template <MqaConfig C>
struct MqaContract {
  static_assert(C.heads == 16 || C.heads == 32 || C.heads == 64, "HEADS: 16, 32 or 64");
  static_assert(C.head_dim == 32 || C.head_dim == 64 || C.head_dim == 128,
                "HEAD_DIM: 32, 64 or 128");
  static_assert(C.math_warpgroups == 3 || C.math_warpgroups == 4, "MATH_WARPGROUPS: 3 or 4");
  static_assert(C.kv_stages > C.math_warpgroups,
                "RING_DEPTH: a slot in use for each warpgroup, and a load");
};

// ---- Derived: numbers that follow from the configuration ----
template <MqaConfig C>
struct MqaDerived : MqaContract<C> {
  static constexpr int kMathWarps = 4 * C.math_warpgroups, kThreads = 32 * kMathWarps + 128;
  // Together no more than the launch gives: 128 a thread of 512, 96 a thread of 640.
  static constexpr int kLoaderRegs = 32, kMathRegs = C.math_warpgroups == 3 ? 160 : 112;
  static constexpr int kColumns = 128;  // (query, head) pairs of a product
  static constexpr int kQueries = kColumns / C.heads;
  static constexpr int kKeys = sched::kKeyTile;
  static constexpr int kQBytes = kColumns * C.head_dim, kKvBytes = kKeys * C.head_dim;
  static constexpr int kScaleBytes = kKeys * 4;
  static constexpr int kFillWarps = 2;
  // After the four threads of a row have traded sums, a thread has kOutQueries x kOutRows of them.
  static constexpr int kOutQueries = kQueries >= 4 ? kQueries / 4 : 1,
                       kOutRows = kQueries >= 4 ? 2 : 1;
};

// ---- Shared memory: one struct, order is the layout ----
template <MqaConfig C>
struct MqaSmem {
  using D = MqaDerived<C>;
  alignas(1024) u8 kv[C.kv_stages][D::kKvBytes];  // swizzle of head_dim bytes
  alignas(1024) u8 q[2][D::kQBytes];
  alignas(128) float kv_scale[C.kv_stages][D::kKeys];
  alignas(16) float weights[2][D::kColumns];
  i32 starts[2][D::kQueries],
      ends[2][D::kQueries];  // clipped to [0, kv_len]; 0, 0 past the last query
  sched::LogitsRun runs[2];  // count 0: no more
  sched::LogitsStart start;
  i64 warp_sums[D::kThreads / 32];
  pipe::Ring<C.kv_stages>
      kv_ring;  // full: the copying thread; empty: the warps of the warpgroup that takes it
  pipe::Ring<2> q_ring;  // full: the copying thread and the weights warp; empty: every math warp
};

// ---- Barriers: every named barrier of this kernel ----
enum class MqaBar : u32 {
  Turn = 1 /* and 2, 3, 4: one a math warpgroup, its threads and the one before */
};

// ---- Roles: each reads top to bottom as one program ----
// One thread copies queries, keys and key scales.
template <MqaConfig C>
struct MqaCopy {
  using D = MqaDerived<C>;

  DG_DEVICE static void run(const MqaParams& params, MqaSmem<C>& smem) {
    sched::LogitsWalk<D::kQueries> walk(smem.start);
    pipe::Cursor<C.kv_stages> at;
    pipe::Cursor<2> q_at;
    sched::LogitsRun run;
    while (walk.next(params, run)) {
      smem.q_ring.wait_empty(q_at);
      smem.q_ring.expect(q_at, D::kQBytes);
      ptx::tma_load_2d(smem.q[q_at.slot], &params.q, smem.q_ring.full_bar(q_at), 0,
                       run.group * D::kColumns);
      q_at.advance();
      for (i32 i = 0; i < run.count; ++i, at.advance()) {
        smem.kv_ring.wait_empty(at);
        smem.kv_ring.expect(at, D::kKvBytes + D::kScaleBytes);
        const i32 key = (run.first + i) * D::kKeys;
        ptx::tma_load_2d(smem.kv[at.slot], &params.kv, smem.kv_ring.full_bar(at), 0, key);
        ptx::tma_load_2d(smem.kv_scale[at.slot], &params.kv_scale, smem.kv_ring.full_bar(at), key,
                         0);
      }
    }
    smem.q_ring.wait_empty(q_at);
    ptx::mbarrier_arrive(smem.q_ring.full_bar(q_at));  // the empty run
  }
};

// One warp brings what is small: weights, bounds and the run itself.
template <MqaConfig C>
struct MqaWeights {
  using D = MqaDerived<C>;

  DG_DEVICE static void run(const MqaParams& params, MqaSmem<C>& smem, u32 lane) {
    sched::LogitsWalk<D::kQueries> walk(smem.start);
    pipe::Cursor<2> at;
    bool more = true;
    while (more) {
      sched::LogitsRun run{0, 0, 0};
      more = walk.next(params, run);
      float weight[4];
      const i32 row0 = run.group * D::kQueries;
#pragma unroll
      for (u32 i = 0; i < 4; ++i) {
        const i32 column = i * 32 + lane;
        const i64 row = min(row0 + column / C.heads, params.seq - 1);
        weight[i] =
            ptx::load_global(params.weights + row * params.weights_row_stride + column % C.heads);
      }
      i32 start = 0, end = 0;
      if (lane < D::kQueries && row0 + static_cast<i32>(lane) < params.seq) {
        start = max(ptx::load_global(params.starts + row0 + lane), 0);
        end = min(ptx::load_global(params.ends + row0 + lane), params.kv_len);
      }
      smem.q_ring.wait_empty(at);
#pragma unroll
      for (u32 i = 0; i < 4; ++i) smem.weights[at.slot][i * 32 + lane] = weight[i];
      if (lane < D::kQueries) {
        smem.starts[at.slot][lane] = start;
        smem.ends[at.slot][lane] = end;
      }
      if (lane == 0) smem.runs[at.slot] = more ? run : sched::LogitsRun{0, 0, 0};
      smem.q_ring.publish(at, lane);
      at.advance();
    }
  }
};

// Rows dealt out over all filling warps: -inf left and right of the tiles that the math warps
// write.
template <MqaConfig C>
struct MqaFill {
  using D = MqaDerived<C>;
  static constexpr i32 kVector = C.bf16_logits ? 8 : 4;
  static constexpr u32 kWord = C.bf16_logits ? 0xFF80FF80u : 0xFF800000u;

  DG_DEVICE static void fill(const MqaParams& params, i32 row, i32 begin, i32 end, u32 lane) {
    using Element = typename ptx::LogitOf<C.bf16_logits>::Type;
    Element* logits =
        static_cast<Element*>(params.logits) + static_cast<i64>(row) * params.logits_row_stride;
    const i32 whole = begin + (end - begin) / kVector * kVector;
    for (i32 j = begin + lane * kVector; j < whole; j += 32 * kVector) {
      ptx::store_global(logits + j, ptx::Words4{kWord, kWord, kWord, kWord});
    }
    if (whole + static_cast<i32>(lane) < end) {
      ptx::store_logit(logits + whole + lane, __uint_as_float(0xFF800000u));
    }
  }

  DG_DEVICE static void run(const MqaParams& params, u32 warp, u32 lane) {
    if (!params.clean) return;
    for (i32 row = blockIdx.x * D::kFillWarps + warp; row < params.seq;
         row += gridDim.x * D::kFillWarps) {
      const sched::KeyTiles tiles = sched::key_tiles<D::kQueries>(params, row / D::kQueries);
      fill(params, row, 0, tiles.first * D::kKeys, lane);
      if (tiles.last * D::kKeys < params.kv_len)
        fill(params, row, tiles.last * D::kKeys, params.kv_len, lane);
    }
  }
};

// A warpgroup: 64 keys of each tile against the run's queries and heads.
template <MqaConfig C>
struct MqaMath {
  using D = MqaDerived<C>;
  using Mma = ptx::Wgmma<ptx::MmaType::E4M3, D::kColumns>;
  using Product = float[D::kColumns / 2];
  using Element = typename ptx::LogitOf<C.bf16_logits>::Type;
  static constexpr int kPairs = D::kColumns / 8;  // pairs of columns of a thread

  // What a thread keeps for one run.
  struct Queries {
    float weight[2 * kPairs];
    i32 start[D::kOutQueries], end[D::kOutQueries],
        limit[D::kOutQueries];  // limit: columns that may be cleaned
    Element* logits[D::kOutQueries];
  };

  DG_DEVICE static void read_queries(const MqaParams& params, const MqaSmem<C>& smem, u32 slot,
                                     const sched::LogitsRun& run, u32 lane, Queries& queries) {
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      const float* weight = &smem.weights[slot][8 * j + lane % 4 * 2];
      queries.weight[2 * j] = weight[0];
      queries.weight[2 * j + 1] = weight[1];
    }
#pragma unroll
    for (int p = 0; p < D::kOutQueries; ++p) {
      const i32 query = D::kQueries >= 4 ? 4 * p + lane % 4 : lane % 2;
      const i64 row = static_cast<i64>(run.group) * D::kQueries + query;
      queries.start[p] = smem.starts[slot][query];
      queries.end[p] = smem.ends[slot][query];
      queries.limit[p] = params.clean && row < params.seq ? params.kv_len : 0;
      queries.logits[p] = static_cast<Element*>(params.logits) + row * params.logits_row_stride -
                          (params.compressed ? queries.start[p] : 0);
    }
  }

  // Warpgroups multiply in the order of the tiles, one at a time: else all multiply together, then
  // all sum together, and the tensor cores wait. The next may start when one instruction is left.
  DG_DEVICE static void take_turn(u32 warpgroup) {
    ptx::named_sync(static_cast<u32>(MqaBar::Turn) + warpgroup, 256);
  }
  DG_DEVICE static void pass_turn(u32 warpgroup) {
    const u32 next = warpgroup + 1 == C.math_warpgroups ? 0 : warpgroup + 1;
    ptx::named_arrive(static_cast<u32>(MqaBar::Turn) + next, 256);
  }

  DG_DEVICE static void issue(Product& product, u64 kv, u64 q) {
    ptx::wgmma_use(product);
    ptx::wgmma_fence();
#pragma unroll
    for (int i = 0; i < C.head_dim / 32; ++i) {
      if (i == C.head_dim / 32 - 1) ptx::wgmma_commit();
      Mma::ss(product, kv + layout::descriptor_bytes(32 * i), q + layout::descriptor_bytes(32 * i),
              i > 0);
    }
    ptx::wgmma_commit();
    ptx::wgmma_use(product);
  }

  // Of two sums, a lane keeps the one that its bit names and gets the neighbour's part of it.
  DG_DEVICE static float trade(float zero, float one, u32 lane, u32 bit) {
    const bool second = (lane & bit) != 0;
    return (second ? one : zero) + __shfl_xor_sync(0xffffffff, second ? zero : one, bit);
  }

  DG_DEVICE static void weigh(const Product& product, const Queries& queries,
                              float (&sum)[D::kQueries][2]) {
#pragma unroll
    for (int i = 0; i < D::kQueries; ++i) sum[i][0] = sum[i][1] = 0.0f;
#pragma unroll
    for (int c = 0; c < 2 * kPairs; ++c) {  // this thread's columns: two of every 8
      const int query = c / 2 * 8 / C.heads, first = c / 2 * 4 + c % 2;
      sum[query][0] = __fmaf_rn(queries.weight[c], ptx::relu(product[first]), sum[query][0]);
      sum[query][1] = __fmaf_rn(queries.weight[c], ptx::relu(product[first + 2]), sum[query][1]);
    }
  }

  DG_DEVICE static void combine(float (&sum)[D::kQueries][2], u32 lane,
                                float (&out)[D::kOutQueries][D::kOutRows]) {
#pragma unroll
    for (int i = 0; i < D::kQueries / 2; ++i) {
      sum[i][0] = trade(sum[2 * i][0], sum[2 * i + 1][0], lane, 1);
      sum[i][1] = trade(sum[2 * i][1], sum[2 * i + 1][1], lane, 1);
    }
    if constexpr (D::kQueries == 2) {
      out[0][0] = trade(sum[0][0], sum[0][1], lane, 2);
    } else {
#pragma unroll
      for (int p = 0; p < D::kOutQueries; ++p) {
        out[p][0] = trade(sum[2 * p][0], sum[2 * p + 1][0], lane, 2);
        out[p][1] = trade(sum[2 * p][1], sum[2 * p + 1][1], lane, 2);
      }
    }
  }

  DG_DEVICE static void store(const Queries& queries, i32 key, const float (&scale)[D::kOutRows],
                              const float (&out)[D::kOutQueries][D::kOutRows]) {
#pragma unroll
    for (int p = 0; p < D::kOutQueries; ++p) {
#pragma unroll
      for (int r = 0; r < D::kOutRows; ++r) {
        const i32 j = key + 8 * r;
        const bool inside = (j >= queries.start[p]) & (j < queries.end[p]);
        const float scaled = out[p][r] * scale[r];
        const float value = inside ? scaled : __uint_as_float(0xFF800000u);
        if (inside | (j < queries.limit[p])) ptx::store_logit(queries.logits[p] + j, value);
      }
    }
  }

  DG_DEVICE static void sum_tile(const Queries& queries, const Product& product, i32 key, u32 lane,
                                 const float (&scale)[D::kOutRows]) {
    float sum[D::kQueries][2], out[D::kOutQueries][D::kOutRows];
    weigh(product, queries, sum);
    combine(sum, lane, out);
    store(queries, key, scale, out);
  }

  DG_DEVICE static void run(const MqaParams& params, MqaSmem<C>& smem, u32 warpgroup) {
    const u32 lane = threadIdx.x % 32;
    const u32 row =
        threadIdx.x % 128 / 32 * 16 + lane / 4 + (D::kQueries >= 4 ? 0 : (lane & 2) * 4);
    const u64 kv_desc =
        layout::swizzled_rows_descriptor<C.head_dim>(ptx::shared_address(smem.kv[0]));
    const u64 q_desc = layout::swizzled_rows_descriptor<C.head_dim>(ptx::shared_address(smem.q[0]));
    const u32 kv_report = smem.kv_ring.report_to(lane), q_report = smem.q_ring.report_to(lane);
    pipe::Cursor<C.kv_stages> at;
    pipe::Cursor<2> q_at;
    // Tiles are counted over all runs; this warpgroup takes every kStep-th.
    constexpr i32 kStep = C.math_warpgroups;
    for (u32 i = 0; i < warpgroup; ++i) at.advance();
    if (warpgroup == kStep - 1) pass_turn(warpgroup);
    i32 ahead = warpgroup;  // tiles from the start of the run to this warpgroup's next one
    for (;; q_at.advance()) {
      smem.q_ring.wait_full(q_at);
      const sched::LogitsRun run = smem.runs[q_at.slot];
      if (run.count == 0) break;
      const u64 q = q_desc + q_at.slot * layout::descriptor_bytes(D::kQBytes);
      Queries queries;
      read_queries(params, smem, q_at.slot, run, lane, queries);
      for (; ahead < run.count; ahead += kStep) {
        Product product;
        smem.kv_ring.wait_full(at);
        take_turn(warpgroup);
        issue(product, kv_desc + at.slot * layout::descriptor_bytes(D::kKvBytes), q);
        float scale[D::kOutRows];
#pragma unroll
        for (int r = 0; r < D::kOutRows; ++r) scale[r] = smem.kv_scale[at.slot][row + 8 * r];
        ptx::wgmma_wait<1>();
        pass_turn(warpgroup);
        ptx::wgmma_wait<0>();
        ptx::wgmma_use(product);
        smem.kv_ring.release(kv_report, at.slot, lane);
#pragma unroll
        for (int i = 0; i < kStep; ++i) at.advance();
        sum_tile(queries, product, (run.first + ahead) * D::kKeys + row, lane, scale);
      }
      ahead -= run.count;
      smem.q_ring.release(q_report, q_at.slot, lane);
    }
    if (ahead == 0) take_turn(warpgroup);  // the last pass, so that no barrier is left half full
  }
};

// ---- Body: initialise, then one if/else over roles ----
template <MqaConfig C>
DG_DEVICE void fp8_mqa_logits(const MqaParams& params, u8* shared) {
  using D = MqaDerived<C>;
  MqaSmem<C>& smem = layout::shared_struct<MqaSmem<C>>(shared);
  const u32 warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  if (threadIdx.x == 0) {
    ptx::prefetch_tensor_map(&params.q);
    ptx::prefetch_tensor_map(&params.kv);
    ptx::prefetch_tensor_map(&params.kv_scale);
    smem.kv_ring.init(1, 4);
    smem.q_ring.init(2, D::kMathWarps);
  }
  ptx::griddep_wait();
  sched::find_start<D::kQueries, D::kThreads>(params, smem.warp_sums, smem.start);
  __syncthreads();
  if (warp >= D::kMathWarps) {
    ptx::release_registers<D::kLoaderRegs>();
    const u32 role = warp - D::kMathWarps, lane = threadIdx.x % 32;
    if (role == 0) {
      if (ptx::elect_one()) MqaCopy<C>::run(params, smem);
    } else if (role == 1) {
      MqaWeights<C>::run(params, smem, lane);
    } else {
      MqaFill<C>::run(params, role - 2, lane);
    }
    ptx::warp_sync();
  } else {
    ptx::acquire_registers<D::kMathRegs>();
    MqaMath<C>::run(params, smem, warp / 4);
  }
  ptx::griddep_launch();
}

}  // namespace deep_gemm::sm90
