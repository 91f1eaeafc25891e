// The entries of sparse logits on a CPU.                             stem: sparse_schedule
//   extern "C" void host_sparse_mqa_logits_metadata(const DjHostBlock* b, void* const* args) {
//     deep_gemm::host::sparse_schedule(*b, *static_cast<const SparseScheduleParams*>(args[0]));
//   }
// Grid: blocks that share the queries evenly. Leaves out: what an entry is (abi/sparse_params.h).
#pragma once

#include <deep_gemm/abi/host_block.h>
#include <deep_gemm/abi/sparse_params.h>

namespace deep_gemm::host {

inline void sparse_schedule(const DjHostBlock& block, const SparseScheduleParams& p) {
  for (std::int64_t row = block.index[0]; row < p.rows; row += block.grid[0]) {
    for (int order = 0; order < p.num_blocks; ++order)
      p.entries[row * p.num_blocks + order] = sparse_entry_of(p, row, order);
  }
}

}  // namespace deep_gemm::host
