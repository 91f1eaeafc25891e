// The way out of grouped GEMMs on a machine without a compiler: operators that Python registered.
//   call_grouped_reference(op, problem, args, alpha);
// Their schemas stand in _fakes_grouped.py. Leaves the arithmetic to deep_gemm/reference/.
#pragma once

#include <string_view>

#include <deep_gemm/csrc/ops/grouped_run.hpp>

namespace deep_gemm::ops {

void call_grouped_reference(std::string_view op, const GroupedProblem& problem,
                            const GroupedArgs& args, double alpha);

}  // namespace deep_gemm::ops
