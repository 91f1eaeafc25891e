// The schedule of paged logits on a CPU: equal shares of all keys for the slots of a launch.
//   extern "C" void host_paged_mqa_logits_metadata(const DjHostBlock*, void* const* args) {
//     deep_gemm::host::logits_schedule(*static_cast<const LogitsScheduleParams*>(args[0]));
//   }
// Tiles of all requests in order; one block. Leaves out: who walks it (mqa_logits.hpp, sm90/).
#pragma once

#include <deep_gemm/abi/host_block.h>
#include <deep_gemm/abi/logits_params.h>

namespace deep_gemm::host {

inline void logits_schedule(const LogitsScheduleParams& p) {
  const auto tiles_of = [&](std::int64_t request) {
    const std::int64_t length = p.lengths[request * p.lengths_stride + p.next_n - 1];
    return length > 0 ? (length + kScheduleKeys - 1) / kScheduleKeys : 0;
  };
  std::int64_t total = 0;
  for (int request = 0; request < p.batch; ++request) total += tiles_of(request);
  std::int64_t before = 0;
  int slot = 0;
  for (int request = 0; request < p.batch; ++request) {
    const std::int64_t tiles = tiles_of(request);
    for (; slot <= p.slots && total * slot / p.slots < before + tiles; ++slot) {
      p.schedule[2 * slot] = request;
      p.schedule[2 * slot + 1] = static_cast<int>(total * slot / p.slots - before);
    }
    before += tiles;
  }
  for (; slot <= p.slots; ++slot) {
    p.schedule[2 * slot] = p.batch;
    p.schedule[2 * slot + 1] = 0;
  }
}

}  // namespace deep_gemm::host
