// The values of a layout tensor, checked: what DG_CHECK=1 asks for, since it costs a look at the
// data.
//   check_values(op, problem, ks, values);      // throws InvalidArgument by rule
// Without the check the same values do no harm: kernels clamp. Leaves bringing them to the host to
// grouped_run.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <deep_gemm/csrc/problem/grouped_problem.hpp>

namespace deep_gemm::ops {

void check_values(std::string_view op, const GroupedProblem& problem,
                  const std::optional<std::vector<std::int64_t>>& ks,
                  const std::vector<std::int32_t>& values);

}  // namespace deep_gemm::ops
