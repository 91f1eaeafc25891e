// What crosses the operator registry as lists: integers there, values of ours here.
//   const std::vector<Tensor> views = slice(buffer, symm_layout_from(list, op));
// The facade flattens everything else; only the layouts of mega buffers remain lists.
#pragma once

#include <vector>

#include <torch/csrc/stable/tensor.h>

#include <deep_gemm/csrc/plan/symm_layout.hpp>

namespace deep_gemm::ops {

// Views of `buffer`, one byte an element and contiguous, that keep its storage alive.
std::vector<torch::stable::Tensor> slice(const torch::stable::Tensor& buffer,
                                         const SymmLayout& layout, std::string_view op);

}  // namespace deep_gemm::ops
