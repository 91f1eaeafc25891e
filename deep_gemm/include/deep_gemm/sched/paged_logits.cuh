// A block's share of the keys of a paged call, request by request.
//   sched::PagedWalk walk(params);  sched::LogitsRun run;
//   while (walk.next(params, run, lane)) { request run.group; tiles run.first .. + run.count - 1 }
// Slot blockIdx.x of the schedule, of which blockIdx.y takes an equal part of each request. A whole
// warp walks: its lanes read the lengths of 32 requests at a time. Leaves out: who made the
// schedule (portable/logits_schedule.cuh).
#pragma once

#include <deep_gemm/sched/logits.cuh>

namespace deep_gemm::sched {

struct PagedWalk {
  i32 request, first_tile, last_request, last_tile;
  i32 seen = 0, length = 0;  // requests whose lengths are known; this lane's of the last 32

  DG_DEVICE explicit PagedWalk(const PagedMqaParams& params) {
    const i32* slot = params.schedule + 2 * blockIdx.x;
    request = ptx::load_global(slot);
    first_tile = ptx::load_global(slot + 1);
    last_request = min(ptx::load_global(slot + 2), params.batch);
    last_tile = last_request < params.batch ? ptx::load_global(slot + 3) : 0;
    seen = request;
  }

  DG_DEVICE bool next(const PagedMqaParams& params, LogitsRun& run, u32 lane) {
    while (request < last_request || (request == last_request && last_tile > 0)) {
      if (request >= params.batch) return false;
      if (request == seen) {
        const i64 mine = min(request + static_cast<i32>(lane), params.batch - 1);
        length = ptx::load_global(params.lengths + mine * params.next_n + params.next_n - 1);
        seen += 32;
      }
      const i32 keys = __shfl_sync(0xffffffff, length, (request - seen + 32) & 31);
      i32 end = keys > 0 ? static_cast<i32>(ceil_div(min(keys, params.width), kKeyTile)) : 0;
      if (request == last_request) end = min(end, last_tile);
      const i32 each = static_cast<i32>(ceil_div(max(end - first_tile, 0), gridDim.y));
      const i32 begin = first_tile + each * static_cast<i32>(blockIdx.y);
      run = {request, begin, min(each, end - begin)};
      ++request;
      first_tile = 0;
      if (run.count > 0) return true;
    }
    return false;
  }
};

}  // namespace deep_gemm::sched
