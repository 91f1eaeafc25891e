// Reading a call: tensors as facts, and the letters of a GEMM's name.
//   const TensorFacts facts = facts_of(tensor);      // no copy, no dtype that throws
// Leaves what is legal to the <stem>_check files.
#pragma once

#include <optional>

#include <torch/csrc/stable/tensor.h>

#include <deep_gemm/csrc/launch/placement.hpp>
#include <deep_gemm/csrc/plan/knobs.hpp>
#include <deep_gemm/csrc/problem/tensor_facts.hpp>

namespace deep_gemm::ops {

using torch::stable::Tensor;

TensorFacts facts_of(const Tensor& tensor);

inline std::optional<TensorFacts> facts_of(const std::optional<Tensor>& tensor) {
  return tensor ? std::optional<TensorFacts>(facts_of(*tensor)) : std::nullopt;
}

// Where a call runs whose first operand has these facts.
Placement placement_of(const TensorFacts& facts, const Knobs& knobs);

inline const void* address_of(const TensorFacts& facts) {
  return reinterpret_cast<const void*>(facts.address);
}
inline const void* address_of(const std::optional<TensorFacts>& facts) {
  return facts ? address_of(*facts) : nullptr;
}

}  // namespace deep_gemm::ops
