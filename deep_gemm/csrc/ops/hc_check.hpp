// A call of tf32_hc_prenorm_gemm, checked: facts of its tensors in, a valid problem out, or an
// error by rule.
//   const HcProblem p = check_hc({.a = ..., .b = ..., .d = ..., .sqr_sum = ..., .splits = 16});
// One order: device, dtype, rank, shape, strides. Leaves wording to plan/rules.cpp.
#pragma once

#include <cstdint>
#include <optional>

#include <deep_gemm/csrc/problem/hc_problem.hpp>
#include <deep_gemm/csrc/problem/tensor_facts.hpp>

namespace deep_gemm::ops {

struct HcFacts {
  TensorFacts a, b, d, sqr_sum;
  std::optional<std::int64_t> splits;  // given: d and sqr_sum have it as their first dimension
};

HcProblem check_hc(const HcFacts& facts);

}  // namespace deep_gemm::ops
