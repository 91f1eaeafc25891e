// The steps that every logits operator shares around check, plan and launch.
//   Tensor logits = new_logits(problem, facts.q);
//   if (!is_trivial(problem)) launch_or_refer(facts, problem, tensors, logits);
// Leaves checks to logits_check and plans to plan/.
#pragma once

#include <optional>

#include <deep_gemm/csrc/launch/logits_launch.hpp>
#include <deep_gemm/csrc/ops/args.hpp>
#include <deep_gemm/csrc/ops/logits_check.hpp>
#include <deep_gemm/csrc/ops/sparse_schedule_check.hpp>

namespace deep_gemm::ops {

// [rows, width] whose rows are as far apart as the problem says; the storage has whole rows, and
// rows of whole groups of queries.
Tensor new_logits(const LogitsProblem& problem, const TensorFacts& like);
Tensor new_bytes(std::int64_t count, const TensorFacts& like);
Tensor new_int32(std::initializer_list<std::int64_t> sizes, const TensorFacts& like);

struct LogitsTensors {
  const Tensor& q;
  const std::optional<Tensor>& q_scale;
  const Tensor& kv;
  const Tensor* kv_scale;  // null: paged
  const Tensor& weights;
  const Tensor* starts;    // null: paged
  const Tensor* ends;      // null: sparse
  const Tensor* table;     // null: not paged, or sparse
  const Tensor* schedule;  // sparse: the metadata
};

// Launches on the device of q; calls the reference where no kernel can be had.
void launch_or_refer(const LogitsFacts& facts, const LogitsProblem& problem,
                     const LogitsTensors& tensors, const Tensor& logits);
void launch_or_refer(const LogitsScheduleFacts& facts, const LogitsScheduleProblem& problem,
                     const Tensor& lengths, const Tensor& schedule);

struct SparseScheduleTensors {
  const Tensor* starts;  // null: paged
  const Tensor& ends;
  const Tensor* table;  // null: not paged
  const Tensor& blocks;
};

void launch_or_refer(const SparseScheduleFacts& facts, const SparseScheduleProblem& problem,
                     const SparseScheduleTensors& tensors, const Tensor& metadata);

}  // namespace deep_gemm::ops
