// The steps that every dense GEMM shares around check, plan and launch.
//   if (finish_if_trivial(problem, d, c)) return;
//   launch_or_refer(...);
// Leaves checks to gemm_check and plans to plan/.
#pragma once

#include <optional>
#include <string_view>

#include <deep_gemm/csrc/launch/gemm_launch.hpp>
#include <deep_gemm/csrc/ops/args.hpp>
#include <deep_gemm/csrc/ops/gemm_check.hpp>

namespace deep_gemm::ops {

// m or n is 0: nothing to write. k is 0: d becomes c, or zero.
bool finish_if_trivial(const GemmProblem& problem, const Tensor& d, const std::optional<Tensor>& c);

struct GemmTensors {
  const Tensor& a;
  const Tensor* a_scale;  // null: not scaled
  const Tensor& b;
  const Tensor* b_scale;
  const Tensor& d;
  const std::optional<Tensor>& c;
};

// Launches on the device of the tensors; calls the reference where no kernel can be had.
void launch_or_refer(const GemmFacts& facts, const GemmProblem& problem, const GemmTensors& tensors,
                     std::optional<double> alpha);

// Launches what an earlier call prepared; false when there is nothing to launch or nothing ready.
bool launch_if_ready(const GemmFacts& facts, const GemmProblem& problem,
                     std::optional<double> alpha);

}  // namespace deep_gemm::ops
