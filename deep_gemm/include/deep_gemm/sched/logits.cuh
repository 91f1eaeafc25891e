// Equal shares of all key tiles for the blocks of a logits launch.
//   sched::LogitsWalk<4> walk(params, start);  sched::LogitsRun run;
//   while (walk.next(params, run)) { queries of run.group; tiles run.first .. run.first + run.count
//   - 1 }
// Queries come in groups of kQueries; a group's tiles cover the union of its rows' ranges. The
// tiles of all groups, in order, are cut into gridDim.x pieces of equal length, whatever the ranges
// are. Leaves out: who walks (sm90/) and what happens outside a row's range.
#pragma once

#include <deep_gemm/abi/mqa_params.h>
#include <deep_gemm/ptx/memory.cuh>
#include <deep_gemm/sched/tile.cuh>

namespace deep_gemm::sched {

inline constexpr i32 kKeyTile = 64;

struct KeyTiles {
  i32 first, last;
};

struct LogitsRun {
  i32 group, first, count;
};

// Where a block starts, the tiles that its first group has left there, and how many it takes in
// all.
struct LogitsStart {
  i32 group;
  KeyTiles tiles;
  i64 count;
};

// Tiles that a group of queries needs; none where every range is empty.
template <int kQueries>
DG_DEVICE KeyTiles key_tiles(const MqaParams& params, i32 group) {
  constexpr int kStep =
      kQueries < 4 ? kQueries : 4;  // loads in flight: the loader has few registers
  i32 low = params.kv_len, high = 0;
#pragma unroll 1
  for (int first = 0; first < kQueries; first += kStep) {
    i32 start[kStep], end[kStep];
#pragma unroll
    for (int i = 0; i < kStep; ++i) {
      const i32 row = min(group * kQueries + first + i, params.seq - 1);
      start[i] = ptx::load_global(params.starts + row);
      end[i] = ptx::load_global(params.ends + row);
    }
#pragma unroll
    for (int i = 0; i < kStep; ++i) {
      if (start[i] < end[i]) {
        low = min(low, max(start[i], 0));
        high = max(high, min(end[i], params.kv_len));
      }
    }
  }
  if (low >= high) return {0, 0};
  return {low / kKeyTile, static_cast<i32>(ceil_div(high, kKeyTile))};
}

// All threads of the block call; the answer and the scratch lie in shared memory, valid after a
// barrier.
template <int kQueries, int kThreads>
DG_DEVICE void find_start(const MqaParams& params, i64 (&warp_sums)[kThreads / 32],
                          LogitsStart& answer) {
  const i32 groups = static_cast<i32>(ceil_div(params.seq, kQueries));
  const i32 per_thread = static_cast<i32>(ceil_div(groups, kThreads));
  const i32 begin = min(static_cast<i32>(threadIdx.x) * per_thread, groups);
  const i32 end = min(begin + per_thread, groups);
  i64 own = 0;
  KeyTiles tiles{0, 0};  // of the last group seen: with one group a thread, the only one
  for (i32 g = begin; g < end; ++g) {
    tiles = key_tiles<kQueries>(params, g);
    own += tiles.last - tiles.first;
  }
  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  i64 sum = own;
#pragma unroll
  for (u32 step = 1; step < 32; step *= 2) {
    const i64 other = __shfl_up_sync(0xffffffff, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == 31) warp_sums[warp] = sum;
  __syncthreads();
  i64 before = sum - own, total = 0;
#pragma unroll
  for (u32 w = 0; w < kThreads / 32; ++w) {
    if (w < warp) before += warp_sums[w];
    total += warp_sums[w];
  }
  const i64 first = total * blockIdx.x / gridDim.x, past = total * (blockIdx.x + 1) / gridDim.x;
  if (first == past && threadIdx.x == 0) answer = {0, {0, 0}, 0};
  if (first == past || first < before || first >= before + own) return;
  for (i32 g = begin; g < end; ++g) {
    if (per_thread > 1) tiles = key_tiles<kQueries>(params, g);
    const i32 length = tiles.last - tiles.first;
    if (first < before + length) {
      answer = {g, {tiles.first + static_cast<i32>(first - before), tiles.last}, past - first};
      return;
    }
    before += length;
  }
}

template <int kQueries>
struct LogitsWalk {
  i32 group;
  KeyTiles tiles;
  i64 left;

  DG_DEVICE explicit LogitsWalk(const LogitsStart& start)
      : group(start.group), tiles(start.tiles), left(start.count) {}

  DG_DEVICE bool next(const MqaParams& params, LogitsRun& run) {
    while (left > 0) {
      const i64 length = tiles.last - tiles.first;
      run = {group, tiles.first, static_cast<i32>(length < left ? length : left)};
      ++group;
      left -= run.count;
      if (left > 0) tiles = key_tiles<kQueries>(params, group);
      if (run.count > 0) return true;
    }
    return false;
  }
};

}  // namespace deep_gemm::sched
