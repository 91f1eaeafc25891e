// The steps that every logits operator shares around its check.
//   return run_logits(call, facts, check_mqa_logits(facts), tensors);
// Leaves checks to logits_check and plans to plan/.
#pragma once

#include <deep_gemm/csrc/launch/logits_launch.hpp>
#include <deep_gemm/csrc/ops/logits_check.hpp>
#include <deep_gemm/csrc/ops/operator.hpp>

namespace deep_gemm::ops {

// Null: there is none, or the call is warm.
struct LogitsTensors {
  const Tensor* q = nullptr;
  const Tensor* q_scale = nullptr;
  const Tensor* kv = nullptr;
  const Tensor* kv_scale = nullptr;  // not of paged keys
  const Tensor* weights = nullptr;
  const Tensor* starts = nullptr;    // not of paged keys, nor of chosen blocks
  const Tensor* ends = nullptr;      // not of chosen blocks
  const Tensor* table = nullptr;     // of paged keys
  const Tensor* metadata = nullptr;  // of chosen blocks
};

// Allocates the logits and launches on the device of q; calls the reference where no kernel can be
// had.
bool run_logits(ReturningCall& call, const LogitsFacts& facts, const LogitsProblem& problem,
                const LogitsTensors& tensors);
bool run_logits_schedule(ReturningCall& call, const LogitsScheduleFacts& facts,
                         const LogitsScheduleProblem& problem, const Tensor* lengths);

}  // namespace deep_gemm::ops
