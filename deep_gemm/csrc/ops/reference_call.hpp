// The way out on a machine without a compiler: the operator that Python registered, said once.
//   call_reference(facts, problem, tensors, alpha);
// Its schema stands in control.h. Leaves the arithmetic to deep_gemm/reference/.
#pragma once

#include <string_view>
#include <vector>

#include <torch/csrc/stable/c/shim.h>

#include <deep_gemm/csrc/ops/gemm_run.hpp>

namespace deep_gemm::ops {

// Says once that operators run as torch code.
void warn_of_reference();

void call_reference(const GemmFacts& facts, const GemmProblem& problem, const GemmTensors& tensors,
                    double alpha);

// The same for any family: the arguments of `name` in the order of its schema.
void call_reference_operator(std::string_view op, const char* name,
                             std::vector<StableIValue>& stack);

}  // namespace deep_gemm::ops
