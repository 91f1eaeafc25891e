// A contiguous tensor that an operator makes for itself, on the device of another one.
#pragma once

#include <initializer_list>

#include <torch/csrc/stable/tensor.h>

#include <deep_gemm/csrc/problem/tensor_facts.hpp>

namespace deep_gemm::ops {

// BFloat16, Float32, Int32 or UInt8; not cleared.
torch::stable::Tensor new_tensor(DType dtype, std::initializer_list<std::int64_t> sizes,
                                 const TensorFacts& like);

// The same with strides, of which there are as many as sizes.
torch::stable::Tensor new_strided(DType dtype, std::initializer_list<std::int64_t> sizes,
                                  std::initializer_list<std::int64_t> strides,
                                  const TensorFacts& like);

}  // namespace deep_gemm::ops
