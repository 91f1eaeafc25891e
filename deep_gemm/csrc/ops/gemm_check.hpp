// A call of a dense GEMM, checked: facts of its tensors in, a valid problem out, or an error by
// rule.
//   const GemmProblem p = check_scaled_gemm({.op = "fp8_gemm_nt", .a = ..., .b_scale = ..., .d =
//   ...});
// One order for all: device, dtype, rank, shape, recipe, scales, strides, aliases. Runs on facts,
// so `supports` and tests ask the same question as a call. Leaves wording to plan/rules.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <deep_gemm/csrc/problem/gemm_problem.hpp>
#include <deep_gemm/csrc/problem/tensor_facts.hpp>

namespace deep_gemm::ops {

// How the operands are stored: n as [m, k] (or [n, k] for b in nt), t as its transpose. The scales
// are stored as their operand is.
struct GemmLayout {
  bool a_is_transposed = false;
  bool b_is_transposed = false;
};
inline constexpr GemmLayout kNt{false, false}, kNn{false, true}, kTn{true, true}, kTt{true, false};

GemmLayout layout_of(std::string_view op);  // from the two last letters

// 0: the default.
struct Recipe {
  std::int64_t gran_m = 0, gran_n = 0, gran_k_a = 0, gran_k_b = 0;
};

struct GemmFacts {
  std::string_view op;
  GemmLayout layout;
  TensorFacts a, a_scale, b, b_scale, d;
  std::optional<TensorFacts> c;
  Recipe recipe;
  bool has_alpha = false;
};

GemmProblem check_scaled_gemm(const GemmFacts& facts);
GemmProblem check_bf16_gemm(const GemmFacts& facts);

}  // namespace deep_gemm::ops
