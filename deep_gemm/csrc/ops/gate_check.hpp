// A call of bf16_mega_gate, checked: facts of its tensors in, a valid problem out, or an error by
// rule.
//   const GateProblem p = check_gate({.x = ..., .weight = ..., .topk = 8, .indices = ..., ...});
// One order: device, dtype, rank, shape, strides, what belongs together. Leaves wording to
// plan/rules.cpp.
#pragma once

#include <cstdint>
#include <optional>

#include <deep_gemm/csrc/problem/gate_problem.hpp>
#include <deep_gemm/csrc/problem/tensor_facts.hpp>

namespace deep_gemm::ops {

struct GateFacts {
  TensorFacts x = {}, weight = {};
  std::int64_t topk = 0;
  TensorFacts indices = {}, weights = {};  // the outputs
  std::optional<TensorFacts> mask = {}, bias = {}, image_bias = {}, image_mask = {};
  std::optional<TensorFacts> fixed_mask = {}, physical_map = {}, num_copies = {}, fixed = {};
};

GateProblem check_gate(const GateFacts& facts);

}  // namespace deep_gemm::ops
