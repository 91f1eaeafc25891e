// Indexer logits over paged keys, Hopper.                 stem: fp8_paged_mqa_logits
//   logits[b * next_n + i, j] = scale[j] * sum over h of  weights[.,h] * max(0, dot(q[.,h],
//   key[j])) for j < lengths[b, i], key j in page table[b, j / page]
// Grid: one block per slot of the schedule.  Roles: 1 copying warp, 1 warp for weights and lengths,
// 2-3 math warpgroups that take the tiles in turn. Bound by memory: a deep ring of tiles, and a
// table read 32 entries ahead. A math warpgroup multiplies 64 keys by all (query, head) pairs of a
// request; a thread holds a quarter of the heads of two keys. Dependent launch: waits before the
// first global read, releases after the last store.
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
#include <deep_gemm/sched/paged_logits.cuh>

namespace deep_gemm::sm90 {

// ---- Contract: what a plan may ask for ----
template <PagedMqaConfig C>
struct PagedMqaContract {
  static_assert(C.heads == 16 || C.heads == 32 || C.heads == 64, "HEADS: 16, 32 or 64");
  static_assert(C.head_dim == 32 || C.head_dim == 64 || C.head_dim == 128,
                "HEAD_DIM: 32, 64 or 128");
  static_assert(C.queries == 1 || C.queries == 2 || C.queries == 4, "QUERIES: 1, 2 or 4");
  static_assert(C.part_keys == 16 || C.part_keys == 32 || C.part_keys == 64,
                "PART_KEYS: 16, 32 or 64");
  static_assert(C.kv_stages > 3, "RING_DEPTH: a slot in use for each warpgroup, and a load");
};

// ---- Derived: numbers that follow from the configuration ----
template <PagedMqaConfig C>
struct PagedMqaDerived : PagedMqaContract<C> {
  static constexpr int kColumns = C.queries * C.heads;  // (query, head) pairs of a product
  static constexpr int kMathWarpgroups = kColumns > 128 ? 2 : 3;
  static constexpr int kMathWarps = 4 * kMathWarpgroups, kThreads = 32 * kMathWarps + 128;
  static constexpr int kLoaderRegs = 56;
  static constexpr int kMathRegs = kMathWarpgroups == 3 ? 152 : 224;
  static constexpr int kKeys = sched::kKeyTile, kParts = kKeys / C.part_keys;
  static constexpr int kQBytes = kColumns * C.head_dim, kKvBytes = kKeys * C.head_dim;
  static constexpr int kPartBytes = C.part_keys * C.head_dim;
};

// ---- Shared memory: one struct, order is the layout ----
template <PagedMqaConfig C>
struct PagedMqaSmem {
  using D = PagedMqaDerived<C>;
  alignas(1024) u8 kv[C.kv_stages][D::kKvBytes];  // swizzle of head_dim bytes
  alignas(1024) u8 q[2][D::kQBytes];
  alignas(128) float kv_scale[C.kv_stages][D::kKeys];
  alignas(16) float weights[2][D::kColumns];
  i32 ends[2][C.queries];
  sched::LogitsRun runs[2];         // count 0: no more
  pipe::Ring<C.kv_stages> kv_ring;  // full: the copying thread; empty: the warps that take it
  pipe::Ring<2> q_ring;  // full: the copying thread and the weights warp; empty: every math warp
};

// ---- Roles: each reads top to bottom as one program ----
// One warp copies queries, keys and key scales; its lanes hold the next 32 entries of the table.
template <PagedMqaConfig C>
struct PagedMqaCopy {
  using D = PagedMqaDerived<C>;

  // Entry of part `part` of a request; parts past the last key of the run are never asked for.
  DG_DEVICE static i32 entry(const PagedMqaParams& params, i64 request, i32 part, i32 past) {
    const i32 page = min(part, past - 1) * C.part_keys / params.page;
    return ptx::load_global(params.table + request * params.table_stride + page);
  }

  DG_DEVICE static void tile(const PagedMqaParams& params, PagedMqaSmem<C>& smem,
                             const pipe::Cursor<C.kv_stages>& at, i32 part, i32 count,
                             const i32 (&blocks)[D::kParts]) {
    u64* bar = smem.kv_ring.full_bar(at);
    smem.kv_ring.expect(at, count * (D::kPartBytes + C.part_keys * 4));
#pragma unroll
    for (int i = 0; i < D::kParts; ++i) {
      if (i >= count) break;
      const i32 in_page = (part + i) * C.part_keys % params.page;
      ptx::tma_load_3d(smem.kv[at.slot] + i * D::kPartBytes, &params.kv, bar, 0, in_page, blocks[i],
                       ptx::CachePolicy::EvictFirst);
      const u8* scales = params.cache + blocks[i] * params.block_stride +
                         static_cast<i64>(params.page) * C.head_dim + in_page * 4;
      ptx::bulk_load(&smem.kv_scale[at.slot][i * C.part_keys], scales, C.part_keys * 4, bar);
    }
  }

  DG_DEVICE static void run(const PagedMqaParams& params, PagedMqaSmem<C>& smem, u32 lane) {
    sched::PagedWalk walk(params);
    pipe::Cursor<C.kv_stages> at;
    pipe::Cursor<2> q_at;
    sched::LogitsRun run;
    while (walk.next(params, run, lane)) {
      smem.q_ring.wait_empty(q_at);
      if (lane == 0) {
        smem.q_ring.expect(q_at, D::kQBytes);
        ptx::tma_load_2d(smem.q[q_at.slot], &params.q, smem.q_ring.full_bar(q_at), 0,
                         run.group * params.next_n * C.heads);
      }
      q_at.advance();
      const i32 keys = min(
          ptx::load_global(params.lengths + static_cast<i64>(run.group + 1) * params.next_n - 1),
          params.width);
      const i32 first = run.first * D::kParts;
      const i32 past = min((run.first + run.count) * D::kParts,
                           static_cast<i32>(sched::ceil_div(keys, C.part_keys)));
      i32 ahead = entry(params, run.group, first + lane, past);
      for (i32 base = first; base < past; base += 32) {
        const i32 mine = ahead;
        ahead = entry(params, run.group, base + 32 + lane, past);
        for (i32 part = base; part < min(base + 32, past); part += D::kParts, at.advance()) {
          i32 blocks[D::kParts];
#pragma unroll
          for (int i = 0; i < D::kParts; ++i)
            blocks[i] = __shfl_sync(0xffffffff, mine, part - base + i);
          smem.kv_ring.wait_empty(at);
          if (lane == 0) tile(params, smem, at, part, min(D::kParts, past - part), blocks);
        }
      }
    }
    smem.q_ring.wait_empty(q_at);
    if (lane == 0) ptx::mbarrier_arrive(smem.q_ring.full_bar(q_at));  // the empty run
  }
};

// One warp brings what is small: weights, lengths and the run itself.
template <PagedMqaConfig C>
struct PagedMqaWeights {
  using D = PagedMqaDerived<C>;
  static constexpr u32 kEach = (D::kColumns + 31) / 32;

  DG_DEVICE static void run(const PagedMqaParams& params, PagedMqaSmem<C>& smem, u32 lane) {
    sched::PagedWalk walk(params);
    pipe::Cursor<2> at;
    bool more = true;
    const i64 rows = static_cast<i64>(params.batch) * params.next_n;
    while (more) {
      sched::LogitsRun run{0, 0, 0};
      more = walk.next(params, run, lane);
      float weight[kEach];
      const i64 row0 = static_cast<i64>(run.group) * params.next_n;
#pragma unroll
      for (u32 i = 0; i < kEach; ++i) {
        const u32 column = i * 32 + lane;
        const i64 row = min(row0 + column / C.heads, rows - 1);
        weight[i] =
            ptx::load_global(params.weights + row * params.weights_row_stride + column % C.heads);
      }
      i32 end = 0;  // of rows that pad next_n: nothing
      if (lane < C.queries && static_cast<i32>(lane) < params.next_n) {
        end = min(ptx::load_global(params.lengths + row0 + lane), params.width);
        end = min(end, (run.first + run.count) * D::kKeys);
      }
      smem.q_ring.wait_empty(at);
#pragma unroll
      for (u32 i = 0; i < kEach; ++i) {
        if (i * 32 + lane < D::kColumns) smem.weights[at.slot][i * 32 + lane] = weight[i];
      }
      if (lane < C.queries) smem.ends[at.slot][lane] = end;
      if (lane == 0) smem.runs[at.slot] = more ? run : sched::LogitsRun{0, 0, 0};
      smem.q_ring.publish(at, lane);
      at.advance();
    }
  }
};

// A warpgroup: 64 keys of every second or third tile against the request's queries and heads.
template <PagedMqaConfig C>
struct PagedMqaMath {
  using D = PagedMqaDerived<C>;
  using Mma = ptx::Wgmma<ptx::MmaType::E4M3, D::kColumns>;
  using Product = float[D::kColumns / 2];
  using Element = typename ptx::LogitOf<C.bf16_logits>::Type;
  static constexpr int kPairs = D::kColumns / 8;  // pairs of columns of a thread
  static constexpr int kOutRows = C.queries == 4 ? 2 : 1;

  // Of two sums, a lane keeps the one that its bit names and gets the neighbour's part of it.
  DG_DEVICE static float trade(float zero, float one, u32 lane, u32 bit) {
    const bool second = (lane & bit) != 0;
    return (second ? one : zero) + __shfl_xor_sync(0xffffffff, second ? zero : one, bit);
  }

  DG_DEVICE static void issue(Product& product, u64 kv, u64 q) {
    ptx::wgmma_use(product);
    ptx::wgmma_fence();
#pragma unroll
    for (int i = 0; i < C.head_dim / 32; ++i) {
      Mma::ss(product, kv + layout::descriptor_bytes(32 * i), q + layout::descriptor_bytes(32 * i),
              i > 0);
    }
    ptx::wgmma_commit();
    ptx::wgmma_use(product);
  }

  // Two chains a sum: even and odd columns.
  DG_DEVICE static void weigh(const Product& product, const float (&weight)[2 * kPairs],
                              float (&sum)[C.queries][2]) {
    float chain[C.queries][2][2] = {};
#pragma unroll
    for (int c = 0; c < 2 * kPairs; ++c) {
      const int query = c / 2 * 8 / C.heads, first = c / 2 * 4 + c % 2;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float& to = chain[query][half][c % 2];
        to = __fmaf_rn(weight[c], ptx::relu(product[first + 2 * half]), to);
      }
    }
#pragma unroll
    for (int i = 0; i < C.queries; ++i) {
      sum[i][0] = chain[i][0][0] + chain[i][0][1];
      sum[i][1] = chain[i][1][0] + chain[i][1][1];
    }
  }

  // Lane 4r + c gets: of four queries query c, both keys; of two query c % 2, key half c / 2; of
  // one key half c % 2, twice.
  DG_DEVICE static void combine(const float (&sum)[C.queries][2], u32 lane,
                                float (&out)[kOutRows]) {
    if constexpr (C.queries == 4) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        out[half] = trade(trade(sum[0][half], sum[1][half], lane, 1),
                          trade(sum[2][half], sum[3][half], lane, 1), lane, 2);
      }
    } else if constexpr (C.queries == 2) {
      out[0] = trade(trade(sum[0][0], sum[1][0], lane, 1), trade(sum[0][1], sum[1][1], lane, 1),
                     lane, 2);
    } else {
      const float half = trade(sum[0][0], sum[0][1], lane, 1);
      out[0] = half + __shfl_xor_sync(0xffffffff, half, 2);
    }
  }

  DG_DEVICE static void run(const PagedMqaParams& params, PagedMqaSmem<C>& smem, u32 warpgroup) {
    const u32 lane = threadIdx.x % 32;
    const u32 query = C.queries == 4 ? lane % 4 : C.queries == 2 ? lane % 2 : 0;
    const u32 row = threadIdx.x % 128 / 32 * 16 + lane / 4 +
                    (C.queries == 4   ? 0
                     : C.queries == 2 ? (lane & 2) * 4
                                      : (lane & 1) * 8);
    const bool stores = C.queries != 1 || (lane & 2) == 0;
    const u64 kv_desc =
        layout::swizzled_rows_descriptor<C.head_dim>(ptx::shared_address(smem.kv[0]));
    const u64 q_desc = layout::swizzled_rows_descriptor<C.head_dim>(ptx::shared_address(smem.q[0]));
    const u32 kv_report = smem.kv_ring.report_to(lane), q_report = smem.q_ring.report_to(lane);
    pipe::Cursor<C.kv_stages> at;
    pipe::Cursor<2> q_at;
    // Tiles are counted over all runs; this warpgroup takes every kStep-th.
    constexpr i32 kStep = D::kMathWarpgroups;
    for (u32 i = 0; i < warpgroup; ++i) at.advance();
    i32 ahead = warpgroup;  // tiles from the start of the run to this warpgroup's next one
    for (;; q_at.advance()) {
      smem.q_ring.wait_full(q_at);
      const sched::LogitsRun run = smem.runs[q_at.slot];
      if (run.count == 0) break;
      const u64 q = q_desc + q_at.slot * layout::descriptor_bytes(D::kQBytes);
      float weight[2 * kPairs];
#pragma unroll
      for (int j = 0; j < kPairs; ++j) {
        weight[2 * j] = smem.weights[q_at.slot][8 * j + lane % 4 * 2];
        weight[2 * j + 1] = smem.weights[q_at.slot][8 * j + lane % 4 * 2 + 1];
      }
      const i32 end = stores ? smem.ends[q_at.slot][query] : 0;
      const i64 out_row = static_cast<i64>(run.group) * params.next_n + query;
      Element* logits = static_cast<Element*>(params.logits) + out_row * params.logits_row_stride;
      for (; ahead < run.count; ahead += kStep) {
        Product product;
        smem.kv_ring.wait_full(at);
        issue(product, kv_desc + at.slot * layout::descriptor_bytes(D::kKvBytes), q);
        float scale[kOutRows], sum[C.queries][2], out[kOutRows];
#pragma unroll
        for (int r = 0; r < kOutRows; ++r) scale[r] = smem.kv_scale[at.slot][row + 8 * r];
        ptx::wgmma_wait<0>();
        ptx::wgmma_use(product);
        smem.kv_ring.release(kv_report, at.slot, lane);
#pragma unroll
        for (int i = 0; i < kStep; ++i) at.advance();
        weigh(product, weight, sum);
        combine(sum, lane, out);
        const i32 key = (run.first + ahead) * D::kKeys + row;
#pragma unroll
        for (int r = 0; r < kOutRows; ++r) {
          if (key + 8 * r < end) ptx::store_logit(logits + key + 8 * r, out[r] * scale[r]);
        }
      }
      ahead -= run.count;
      smem.q_ring.release(q_report, q_at.slot, lane);
    }
  }
};

// ---- Body: initialise, then one if/else over roles ----
template <PagedMqaConfig C>
DG_DEVICE void fp8_paged_mqa_logits(const PagedMqaParams& params, u8* shared) {
  using D = PagedMqaDerived<C>;
  PagedMqaSmem<C>& smem = layout::shared_struct<PagedMqaSmem<C>>(shared);
  const u32 warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  if (threadIdx.x == 0) {
    ptx::prefetch_tensor_map(&params.q);
    ptx::prefetch_tensor_map(&params.kv);
    smem.kv_ring.init(1, 4);
    smem.q_ring.init(2, D::kMathWarps);
  }
  ptx::griddep_wait();
  __syncthreads();
  if (warp >= D::kMathWarps) {
    ptx::release_registers<D::kLoaderRegs>();
    const u32 role = warp - D::kMathWarps, lane = threadIdx.x % 32;
    if (role == 0) PagedMqaCopy<C>::run(params, smem, lane);
    if (role == 1) PagedMqaWeights<C>::run(params, smem, lane);
    ptx::warp_sync();
  } else {
    ptx::acquire_registers<D::kMathRegs>();
    PagedMqaMath<C>::run(params, smem, warp / 4);
  }
  ptx::griddep_launch();
}

}  // namespace deep_gemm::sm90
