// The steps that every grouped GEMM shares around its checks.
//   run_grouped(op, problem, tensors, ks, alpha);      // values if asked for, launch or reference
// Leaves checks of shapes to grouped_check and plans to plan/.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <deep_gemm/csrc/ops/args.hpp>
#include <deep_gemm/csrc/problem/grouped_problem.hpp>

namespace deep_gemm::ops {

struct GroupedTensors {
  const Tensor& a;
  const Tensor* a_scale;  // null: not scaled
  const Tensor& b;
  const Tensor* b_scale;
  const Tensor& d;
  const Tensor* c;  // null: none
  const Tensor& layout;
  bool b_is_transposed = false;
};

using Sizes = std::optional<std::vector<std::int64_t>>;

// `mk_alignment` of the wishes, with the default in.
std::int64_t group_alignment();

// A tensor of integers on the host as numbers.
Sizes sizes_of(const std::optional<Tensor>& ks);

// Nothing to compute: d is left alone, or becomes c or zero where k is 0 for all groups.
bool finish_if_trivial(const GroupedProblem& problem, const GroupedTensors& tensors);

void run_grouped(std::string_view op, const GroupedProblem& problem, const GroupedTensors& tensors,
                 const Sizes& ks, std::optional<double> alpha);

}  // namespace deep_gemm::ops
