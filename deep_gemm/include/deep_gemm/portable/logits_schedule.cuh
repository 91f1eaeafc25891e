// The schedule of paged logits: equal shares of all keys for the slots of a launch.  stem: logits
//   portable::logits_schedule(params);      // one block of kLogitsScheduleThreads threads
// Slot s starts where tile total * s / slots lies, counted over the tiles of all requests. Reads
// every length once, writes every slot once. Leaves out: who walks it (mqa_logits.cuh, sm90/).
#pragma once

#include <deep_gemm/abi/logits_params.h>
#include <deep_gemm/portable/dependent.cuh>
#include <deep_gemm/ptx/types.cuh>

namespace deep_gemm::portable {

DG_DEVICE i64 schedule_tiles(const LogitsScheduleParams& params, i32 request) {
  const i32 length =
      params.lengths[static_cast<i64>(request) * params.lengths_stride + params.next_n - 1];
  return length > 0 ? (static_cast<i64>(length) + kScheduleKeys - 1) / kScheduleKeys : 0;
}

// Slots that start in this request, whose tiles are [before, after) of `total`.
DG_DEVICE void write_slots(const LogitsScheduleParams& params, i32 request, i64 before, i64 after,
                           i64 total) {
  if (before == after) return;
  for (i64 slot = (before * params.slots + total - 1) / total; slot < params.slots; ++slot) {
    const i64 start = total * slot / params.slots;
    if (start >= after) return;
    params.schedule[2 * slot] = request;
    params.schedule[2 * slot + 1] = static_cast<i32>(start - before);
  }
}

DG_DEVICE void logits_schedule(const LogitsScheduleParams& params) {
  __shared__ i64 warp_sums[kLogitsScheduleThreads / 32];
  wait_for_dependency();
  const i32 thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const i32 each = (params.batch + kLogitsScheduleThreads - 1) / kLogitsScheduleThreads;
  const i32 begin = min(thread * each, params.batch), end = min(begin + each, params.batch);
  i64 own = 0;
  for (i32 request = begin; request < end; ++request) own += schedule_tiles(params, request);
  i64 sum = own;
#pragma unroll
  for (i32 step = 1; step < 32; step *= 2) {
    const i64 other = __shfl_up_sync(0xffffffff, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == 31) warp_sums[warp] = sum;
  __syncthreads();
  i64 before = sum - own, total = 0;
  for (i32 w = 0; w < kLogitsScheduleThreads / 32; ++w) {
    if (w < warp) before += warp_sums[w];
    total += warp_sums[w];
  }
  for (i32 request = begin; request < end; ++request) {
    const i64 after = before + schedule_tiles(params, request);
    write_slots(params, request, before, after, total);
    before = after;
  }
  // Past the last slot, or without any work: the end.
  for (i32 slot = total == 0 ? thread : params.slots + thread; slot <= params.slots;
       slot += kLogitsScheduleThreads) {
    params.schedule[2 * slot] = params.batch;
    params.schedule[2 * slot + 1] = 0;
  }
  release_dependents();
}

}  // namespace deep_gemm::portable
