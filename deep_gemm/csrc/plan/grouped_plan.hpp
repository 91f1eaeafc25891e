// How a grouped GEMM will be done: the tile of its groups, the same in every process.
//   GroupedPlan plan = plan_grouped(problem, traits, knobs, op);      // throws Unsupported by rule
//   to_line(plan);    // the golden format and the debug print
// A tile is chosen for groups of average size; how large they really are never enters a plan.
// Pure. Leaves text to source/ and launching to launch/.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <deep_gemm/csrc/plan/device_traits.hpp>
#include <deep_gemm/csrc/plan/gemm_plan.hpp>
#include <deep_gemm/csrc/plan/knobs.hpp>
#include <deep_gemm/csrc/problem/grouped_problem.hpp>

namespace deep_gemm {

struct HostGroupedPlan {
  HostGemmPlan gemm;  // of one group; its grid_m is not used
};

struct PortableGroupedPlan {
  PortableGemmPlan gemm;
  Grouping grouping = Grouping::Labels;
  bool is_flat = false;
};

struct Sm90GroupedPlan {
  Sm90GemmPlan gemm;  // its tile says how rows are grouped
};

// One alternative per kernel family.
using GroupedPlan = std::variant<HostGroupedPlan, PortableGroupedPlan, Sm90GroupedPlan>;

GroupedPlan plan_grouped(const GroupedProblem& problem, const DeviceTraits& traits,
                         const Knobs& knobs, std::string_view op);
std::string to_line(const GroupedPlan& plan);

// The dense problem of a group of average size.
GemmProblem average_group(const GroupedProblem& problem);

// Every plan that plan_grouped can pick for these operands, whatever m, n and k are; grids are 1.
std::vector<GroupedPlan> reachable_grouped_plans(const GroupedProblem& problem,
                                                 const DeviceTraits& traits);

}  // namespace deep_gemm
