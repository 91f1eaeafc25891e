// The call that says where the chosen blocks of sparse logits lie, checked: facts of its tensors
// in, a valid problem out, or an error by rule.
//   const SparseScheduleProblem p = check_sparse_schedule({.op = ..., .ends = ..., .blocks = ...});
// Leaves the logits themselves to logits_check, and wording to plan/rules.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <deep_gemm/csrc/problem/logits_problem.hpp>
#include <deep_gemm/csrc/problem/tensor_facts.hpp>

namespace deep_gemm::ops {

struct SparseScheduleFacts {
  std::string_view op;
  std::optional<TensorFacts> starts = {};               // not paged
  TensorFacts ends = {};                                // paged: context_lens
  std::optional<TensorFacts> table = {}, indices = {};  // paged
  TensorFacts blocks = {};
  std::int64_t keys = 0;  // not paged
  std::int64_t page = 0, block = 0;
  bool is_unaligned = false;
};

SparseScheduleProblem check_sparse_schedule(const SparseScheduleFacts& facts);

// Queries have 4 to 4096 chosen blocks of 8 or 16 keys; pages hold whole blocks.
void check_sparse_sizes(std::string_view op, std::int64_t num_blocks, std::int64_t block,
                        std::int64_t page);

// One entry a query and chosen block.
std::int64_t sparse_metadata_bytes(std::int64_t rows, std::int64_t num_blocks);

}  // namespace deep_gemm::ops
