// A layout's values as ranges: which rows (or which part of k) each group has.
//   for (const GroupRange& r : group_ranges(problem, values)) ...
// Total: values out of range are cut to what is there, so that nothing outside is ever touched.
// Pure. Leaves reading values to launch/, and what is wrong with them to ops/grouped_values.
#pragma once

#include <cstdint>
#include <vector>

#include <deep_gemm/csrc/problem/grouped_problem.hpp>

namespace deep_gemm {

struct GroupRange {
  std::int64_t group;  // -1: rows that become zero
  std::int64_t begin, end;
  std::int64_t a_scales = 0, b_scales = 0;  // along k: scales in front of this group's

  friend bool operator==(const GroupRange&, const GroupRange&) = default;
};

// `values` has one element a row (Labels) or a group.
std::vector<GroupRange> group_ranges(const GroupedProblem& problem, const std::int32_t* values);

}  // namespace deep_gemm
