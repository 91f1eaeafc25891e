// The steps that every dense GEMM shares around check, plan and launch.
//   return run_gemm(call, facts, check_scaled_gemm(facts), {a.tensor, ...}, alpha);
// Leaves checks to gemm_check and plans to plan/.
#pragma once

#include <optional>

#include <deep_gemm/csrc/launch/gemm_launch.hpp>
#include <deep_gemm/csrc/ops/gemm_check.hpp>
#include <deep_gemm/csrc/ops/operator.hpp>

namespace deep_gemm::ops {

// Null: there is none, or the call is warm.
struct GemmTensors {
  const Tensor* a = nullptr;
  const Tensor* a_scale = nullptr;
  const Tensor* b = nullptr;
  const Tensor* b_scale = nullptr;
  const Tensor* d = nullptr;
  const Tensor* c = nullptr;
};

// m or n is 0: nothing to write. k is 0: d becomes c, or zero.
bool is_trivial(const GemmProblem& problem);
void finish_trivial(const GemmProblem& problem, const Tensor* d, const Tensor* c);

// Launches on the device of the tensors; calls the reference where no kernel can be had.
bool run_gemm(Call& call, const GemmFacts& facts, const GemmProblem& problem,
              const GemmTensors& tensors, std::optional<double> alpha);

}  // namespace deep_gemm::ops
