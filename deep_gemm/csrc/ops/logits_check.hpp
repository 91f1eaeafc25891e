// A call of indexer logits, checked: facts of its tensors in, a valid problem out, or an error by
// rule.
//   const LogitsProblem p = check_mqa_logits({.op = "fp8_mqa_logits", .q = ..., .ends = ...});
// Runs on facts, so `supports` and tests ask the same question as a call. Leaves wording to
// plan/rules.cpp, and which schedule fits the device to plan/logits_plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <deep_gemm/csrc/problem/logits_problem.hpp>
#include <deep_gemm/csrc/problem/tensor_facts.hpp>

namespace deep_gemm::ops {

struct LogitsFacts {
  std::string_view op;
  TensorFacts q = {};
  std::optional<TensorFacts> q_scale = {};
  TensorFacts kv = {};  // or kv_cache
  TensorFacts kv_scale = {};
  TensorFacts weights = {};
  TensorFacts starts = {}, ends = {};  // paged: ends is context_lens
  TensorFacts table = {}, schedule = {};
  std::optional<TensorFacts> indices = {};
  std::int64_t width = 0;  // max_seqlen_k (0: not compressed) or max_context_len
  bool clean_logits = false;
  bool bf16_logits = false;
  std::int64_t num_sparse_blocks = 0, sparse_block = 0;  // sparse, where schedule is the metadata
};

LogitsProblem check_mqa_logits(const LogitsFacts& facts);
LogitsProblem check_paged_mqa_logits(const LogitsFacts& facts);
LogitsProblem check_sparse_mqa_logits(const LogitsFacts& facts, bool is_paged);

struct LogitsScheduleFacts {
  std::string_view op;
  TensorFacts lengths = {};
  std::optional<TensorFacts> indices = {};
  std::int64_t block_kv = 0, num_sms = 0;
};

LogitsScheduleProblem check_logits_schedule(const LogitsScheduleFacts& facts);

}  // namespace deep_gemm::ops
