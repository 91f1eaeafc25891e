// The CUDA part of grouped_plan: which kernel and tile, and how many blocks.
//   GroupedPlan plan = plan::plan_cuda_grouped(problem, traits, knobs, op);
// Grids follow from shapes alone, so that a captured launch stays right when layouts change.
// Pure. Leaves tables to gemm_tiles_*.hpp.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <deep_gemm/csrc/plan/gemm_legality.hpp>
#include <deep_gemm/csrc/plan/gemm_plan_cuda.hpp>
#include <deep_gemm/csrc/plan/grouped_plan.hpp>

namespace deep_gemm::plan {

// The cheapest Hopper plan; none, where no row is legal.
std::optional<Sm90GroupedPlan> plan_sm90_grouped(const GroupedProblem& problem,
                                                 const DeviceTraits& traits, const Knobs& knobs);

GroupedPlan plan_cuda_grouped(const GroupedProblem& problem, const DeviceTraits& traits,
                              const Knobs& knobs, std::string_view op);

Broken first_broken_rule(const GroupedProblem& problem, const Sm90GroupedPlan& plan,
                         const DeviceTraits& traits);

std::vector<GroupedPlan> reachable_cuda_grouped_plans(const GroupedProblem& problem,
                                                      const DeviceTraits& traits);

}  // namespace deep_gemm::plan
