// A batched product in einsum notation, checked: three-dimensional tensors in, one GEMM and the
// steps from batch to batch out, or an error by rule.
//   const BatchedGemm g = check_bf16_einsum({.expr = "bhr,hdr->bhd", .a = ..., .b = ..., .d =
//   ...}); for (i < g.batch) launch(g.problem, addresses + i * g.step);
// Each expression is a table row: which dimension of a tensor is the batch, the rows, the columns.
// Leaves what one product may be to gemm_check.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <deep_gemm/csrc/ops/gemm_check.hpp>

namespace deep_gemm::ops {

struct EinsumFacts {
  std::string_view op;
  std::string expr;
  TensorFacts a, a_scale, b, b_scale, d;
  std::optional<TensorFacts> c;
  Recipe recipe;
};

// Bytes from one batch to the next.
struct BatchSteps {
  std::int64_t a = 0, a_scale = 0, b = 0, b_scale = 0, d = 0, c = 0;
};

struct BatchedGemm {
  GemmProblem problem;  // of each batch
  BatchSteps step;
  std::int64_t batch = 0;

  bool is_empty() const { return batch == 0 || problem.m == 0 || problem.n == 0; }
};

BatchedGemm check_bf16_einsum(const EinsumFacts& facts);
BatchedGemm check_fp8_einsum(const EinsumFacts& facts);

}  // namespace deep_gemm::ops
