// The steps that every grouped GEMM shares around its checks.
//   return run_grouped(call, op, check_m_grouped(facts), {.a = a, ...}, nullptr, alpha);
// Values if asked for, then the launch or the reference. Leaves checks of shapes to grouped_check
// and plans to plan/.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <deep_gemm/csrc/ops/operator.hpp>
#include <deep_gemm/csrc/problem/grouped_problem.hpp>

namespace deep_gemm::ops {

struct GroupedArgs {
  const Arg& a;
  const Arg* a_scale = nullptr;  // null: not scaled
  const Arg& b;
  const Arg* b_scale = nullptr;
  const Arg& d;
  const Arg* c = nullptr;  // null: none
  const Arg& layout;
  bool b_is_transposed = false;
};

using Sizes = std::optional<std::vector<std::int64_t>>;

// `mk_alignment` of the wishes, with the default in.
std::int64_t group_alignment();

// A tensor of integers on the host as numbers.
Sizes sizes_of(const std::optional<TensorFacts>& ks);

// `ks` is null for GEMMs grouped along m. Nothing to compute: d is left alone, or becomes c or zero
// where k is 0 for all groups.
bool run_grouped(Call& call, std::string_view op, const GroupedProblem& problem,
                 const GroupedArgs& args, const Sizes* ks, std::optional<double> alpha);

}  // namespace deep_gemm::ops
