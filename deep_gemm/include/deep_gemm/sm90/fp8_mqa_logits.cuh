// Indexer logits over contiguous keys, Hopper.            stem: fp8_mqa_logits
//   logits[i,j] = kv_scale[j] * sum over h of  weights[i,h] * max(0, dot(q[i,h], kv[j]))   for
//   starts[i] <= j < ends[i]
// Grid: persistent, one block per SM, equal shares of the key tiles.  Roles: 1 copying warp, 1 warp
// for weights and bounds, 2 filling warps (-inf beside the tiles), 2 math warpgroups in turns: one
// multiplies 64 keys by 256 (query, head) pairs while the other weighs and sums. Pairs are ordered
// so that a thread holds all heads of its queries for two keys: ReLU, weights and the sum stay in
// its registers. Dependent launch: waits before the first global read, releases after the last
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
  static_assert(C.kv_stages > 2,
                "RING_DEPTH: a slot in use for each warpgroup, and a load");
};

// ---- Derived: numbers that follow from the configuration ----
template <MqaConfig C>
struct MqaDerived : MqaContract<C> {
  static constexpr int kMathWarpgroups = 2, kMathWarps = 4 * kMathWarpgroups;
  static constexpr int kThreads = 32 * kMathWarps + 128;
  static constexpr int kLoaderRegs = 40, kMathRegs = 232;
  static constexpr int kColumns = 256;  // (query, head) pairs of a product
  static constexpr int kQueries = kColumns / C.heads;
  static constexpr int kOwn = kQueries / 4;  // queries of a thread: 4 * p + lane % 4
  static constexpr int kKeys = sched::kKeyTile;
  static constexpr int kQBytes = kColumns * C.head_dim, kKvBytes = kKeys * C.head_dim;
  static constexpr int kScaleBytes = kKeys * 4;
  static constexpr int kFillWarps = 2;
};

// ---- Shared memory: one struct, order is the layout ----
template <MqaConfig C>
struct MqaSmem {
  using D = MqaDerived<C>;
  alignas(1024) u8 kv[C.kv_stages][D::kKvBytes];  // swizzle of head_dim bytes
  alignas(1024) u8 q[2][D::kQBytes];
  alignas(128) float kv_scale[C.kv_stages][D::kKeys];
  alignas(16) float weights[2][D::kColumns];
  // Ranges clipped to [0, kv_len], 0 to 0 past the last query; limits: columns that may be cleaned.
  i32 starts[2][D::kQueries], ends[2][D::kQueries], limits[2][D::kQueries];
  sched::LogitsRun runs[2];  // count 0: no more
  sched::LogitsStart start;
  i64 warp_sums[D::kThreads / 32];
  pipe::Ring<C.kv_stages>
      kv_ring;  // full: the copying thread; empty: the warps of the warpgroup that takes it
  pipe::Ring<2> q_ring;  // full: the copying thread and the weights warp; empty: every math warp
};

// ---- Barriers: every named barrier of this kernel ----
enum class MqaBar : u32 {
  Turn = 1 /* and 2: one a math warpgroup, its threads and the one before */
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
#pragma unroll
      for (int p = 0; p < D::kOwn; ++p) {  // four queries: rows 8 * (head / 2) + 2 * query + head % 2
        ptx::tma_load_4d(smem.q[q_at.slot] + p * (D::kQBytes / D::kOwn), &params.q,
                         smem.q_ring.full_bar(q_at), 0, 0, run.group * D::kQueries + 4 * p, 0);
      }
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
  static constexpr u32 kEach = D::kColumns / 32;

  DG_DEVICE static void run(const MqaParams& params, MqaSmem<C>& smem, u32 lane) {
    sched::LogitsWalk<D::kQueries> walk(smem.start);
    pipe::Cursor<2> at;
    bool more = true;
    while (more) {
      sched::LogitsRun run{0, 0, 0};
      more = walk.next(params, run);
      float weight[kEach];
      const i32 row0 = run.group * D::kQueries;
#pragma unroll
      for (u32 i = 0; i < kEach; ++i) {
        const i32 column = i * 32 + lane;
        const i64 row = min(row0 + column / C.heads, params.seq - 1);
        weight[i] =
            ptx::load_global(params.weights + row * params.weights_row_stride + column % C.heads);
      }
      i32 start = 0, end = 0, limit = 0;
      if (lane < D::kQueries && row0 + static_cast<i32>(lane) < params.seq) {
        start = max(ptx::load_global(params.starts + row0 + lane), 0);
        end = max(min(ptx::load_global(params.ends + row0 + lane), params.kv_len), start);
        limit = params.clean ? params.kv_len : 0;
      }
      smem.q_ring.wait_empty(at);
#pragma unroll
      for (u32 i = 0; i < kEach; ++i) smem.weights[at.slot][i * 32 + lane] = weight[i];
      if (lane < D::kQueries) {
        smem.starts[at.slot][lane] = start;
        smem.ends[at.slot][lane] = end;
        smem.limits[at.slot][lane] = limit;
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

// A warpgroup: 64 keys of every second tile against the run's queries and heads.
template <MqaConfig C>
struct MqaMath {
  using D = MqaDerived<C>;
  using Mma = ptx::Wgmma<ptx::MmaType::E4M3, D::kColumns>;
  using Product = float[D::kColumns / 2];
  using Element = typename ptx::LogitOf<C.bf16_logits>::Type;
  // Chains of additions a sum: enough that none waits for the one before.
  static constexpr int kChains = D::kOwn == 1 ? 2 : 1;

  // What a thread keeps for one run.
  struct Queries {
    float weight[D::kOwn][C.heads];
    Element* logits;  // of its first query; the next ones are four rows further
  };

  DG_DEVICE static void read_queries(const MqaParams& params, const MqaSmem<C>& smem, u32 slot,
                                     const sched::LogitsRun& run, u32 lane, Queries& queries) {
#pragma unroll
    for (int p = 0; p < D::kOwn; ++p) {
      const u32 at = ptx::shared_address(&smem.weights[slot][(4 * p + lane % 4) * C.heads]);
#pragma unroll
      for (int h = 0; h < C.heads; h += 4) {
        const ptx::Floats4 four = ptx::load_shared_floats4(at + 4 * h);
        queries.weight[p][h] = four.x;
        queries.weight[p][h + 1] = four.y;
        queries.weight[p][h + 2] = four.z;
        queries.weight[p][h + 3] = four.w;
      }
    }
    const i64 row = run.group * D::kQueries + lane % 4;
    queries.logits = static_cast<Element*>(params.logits) + row * params.logits_row_stride;
  }

  // Warpgroups multiply in the order of the tiles, one at a time: else both multiply together, then
  // both sum together, and the tensor cores wait. The next may start when one instruction is left.
  DG_DEVICE static void take_turn(u32 warpgroup) {
    ptx::named_sync(static_cast<u32>(MqaBar::Turn) + warpgroup, 256);
  }
  DG_DEVICE static void pass_turn(u32 warpgroup) {
    ptx::named_arrive(static_cast<u32>(MqaBar::Turn) + (warpgroup ^ 1), 256);
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

  // One query's heads for this thread's two keys.
  DG_DEVICE static void weigh(const Product& product, const Queries& queries, int p,
                              float (&sum)[2]) {
    float chain[2][kChains];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int i = 0; i < kChains; ++i) chain[half][i] = 0.0f;
    }
#pragma unroll
    for (int h = 0; h < C.heads; ++h) {  // this thread's columns: two of every 8
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float x = product[4 * (p * (C.heads / 2) + h / 2) + 2 * half + h % 2];
        float& to = chain[half][h % kChains];
        to = __fmaf_rn(queries.weight[p][h], ptx::relu(x), to);
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      sum[half] = kChains == 1 ? chain[half][0] : chain[half][0] + chain[half][kChains - 1];
    }
  }

  DG_DEVICE static void sum_tile(const MqaParams& params, const MqaSmem<C>& smem, u32 slot,
                                 const Queries& queries, const Product& product, i32 key, u32 lane,
                                 const float (&scale)[2]) {
#pragma unroll
    for (int p = 0; p < D::kOwn; ++p) {
      float sum[2];
      weigh(product, queries, p, sum);
      const u32 query = 4 * p + lane % 4;
      const i32 start = smem.starts[slot][query], length = smem.ends[slot][query] - start;
      const i32 limit = smem.limits[slot][query];
      Element* logits = queries.logits + 4 * p * params.logits_row_stride + key -
                        (params.compressed ? start : 0);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const i32 j = key + 8 * half;
        const bool inside = static_cast<u32>(j - start) < static_cast<u32>(length);
        const float value = inside ? sum[half] * scale[half] : __uint_as_float(0xFF800000u);
        if (inside | (j < limit)) ptx::store_logit(logits + 8 * half, value);
      }
    }
  }

  DG_DEVICE static void run(const MqaParams& params, MqaSmem<C>& smem, u32 warpgroup) {
    const u32 lane = threadIdx.x % 32;
    const u32 row = threadIdx.x % 128 / 32 * 16 + lane / 4;
    const u64 kv_desc =
        layout::swizzled_rows_descriptor<C.head_dim>(ptx::shared_address(smem.kv[0]));
    const u64 q_desc = layout::swizzled_rows_descriptor<C.head_dim>(ptx::shared_address(smem.q[0]));
    const u32 kv_report = smem.kv_ring.report_to(lane), q_report = smem.q_ring.report_to(lane);
    pipe::Cursor<C.kv_stages> at;
    pipe::Cursor<2> q_at;
    // Tiles are counted over all runs; this warpgroup takes every second.
    if (warpgroup == 1) {
      at.advance();
      pass_turn(warpgroup);
    }
    i32 ahead = warpgroup;  // tiles from the start of the run to this warpgroup's next one
    for (;; q_at.advance()) {
      smem.q_ring.wait_full(q_at);
      const sched::LogitsRun run = smem.runs[q_at.slot];
      if (run.count == 0) break;
      const u64 q = q_desc + q_at.slot * layout::descriptor_bytes(D::kQBytes);
      Queries queries;
      read_queries(params, smem, q_at.slot, run, lane, queries);
      for (; ahead < run.count; ahead += 2) {
        Product product;
        smem.kv_ring.wait_full(at);
        take_turn(warpgroup);
        issue(product, kv_desc + at.slot * layout::descriptor_bytes(D::kKvBytes), q);
        const float scale[2] = {smem.kv_scale[at.slot][row], smem.kv_scale[at.slot][row + 8]};
        ptx::wgmma_wait<1>();
        pass_turn(warpgroup);
        ptx::wgmma_wait<0>();
        ptx::wgmma_use(product);
        smem.kv_ring.release(kv_report, at.slot, lane);
        at.advance();
        at.advance();
        sum_tile(params, smem, q_at.slot, queries, product, (run.first + ahead) * D::kKeys + row,
                 lane, scale);
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
