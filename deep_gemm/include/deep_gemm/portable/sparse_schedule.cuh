// The entries of sparse logits, any GPU from sm_80 on.               stem: sparse_schedule
//   portable::sparse_schedule(params);      // any grid of kSparseThreads threads
// A thread writes an entry at a time. Leaves out: what an entry is (abi/sparse_params.h).
#pragma once

#include <deep_gemm/abi/sparse_params.h>
#include <deep_gemm/portable/dependent.cuh>
#include <deep_gemm/ptx/types.cuh>

namespace deep_gemm::portable {

DG_DEVICE void sparse_schedule(const SparseScheduleParams& params) {
  wait_for_dependency();
  const i64 count = params.rows * params.num_blocks;
  const i64 step = static_cast<i64>(gridDim.x) * kSparseThreads;
  for (i64 i = static_cast<i64>(blockIdx.x) * kSparseThreads + threadIdx.x; i < count; i += step)
    params.entries[i] = sparse_entry_of(params, i / params.num_blocks, i % params.num_blocks);
  release_dependents();
}

}  // namespace deep_gemm::portable
