#include <deep_gemm/csrc/plan/grouped_plan.hpp>

#include <algorithm>

#include <deep_gemm/csrc/plan/grouped_plan_cuda.hpp>

namespace deep_gemm {

GemmProblem average_group(const GroupedProblem& problem) {
  GemmProblem p = problem.gemm;
  const std::int64_t groups = std::max<std::int64_t>(problem.num_groups, 1);
  if (problem.grouping == Grouping::Labels || problem.grouping == Grouping::Ends)
    p.m = std::max<std::int64_t>((p.m + groups - 1) / groups, 1);
  if (problem.is_along_k()) p.k = std::max<std::int64_t>(p.k / groups, 1);
  return p;
}

GroupedPlan plan_grouped(const GroupedProblem& problem, const DeviceTraits& traits,
                         const Knobs& knobs, std::string_view op) {
  if (traits.is_cuda()) return plan::plan_cuda_grouped(problem, traits, knobs, op);
  const GemmPlan plan = plan_gemm(average_group(problem), traits, knobs, op);
  return HostGroupedPlan{std::get<HostGemmPlan>(plan)};
}

std::vector<GroupedPlan> reachable_grouped_plans(const GroupedProblem& problem,
                                                 const DeviceTraits& traits) {
  if (traits.is_cuda()) return plan::reachable_cuda_grouped_plans(problem, traits);
  std::vector<GroupedPlan> plans;
  for (const HostGemmConfig& config : reachable_host_configs(problem.gemm, traits))
    plans.emplace_back(HostGroupedPlan{{.config = config}});
  return plans;
}

std::string to_line(const GroupedPlan& plan) {
  constexpr const char* kGroupings[] = {"labels", "ends", "counts", "sizes", "k ends"};
  constexpr const char* kGroups[] = {"dense", "labels", "ends", "counts", "sizes"};
  if (const auto* host = std::get_if<HostGroupedPlan>(&plan))
    return "grouped " + to_line(GemmPlan(host->gemm));
  if (const auto* portable = std::get_if<PortableGroupedPlan>(&plan))
    return std::string("by ") + kGroupings[static_cast<int>(portable->grouping)] +
           (portable->is_flat ? " flat " : " ") + to_line(GemmPlan(portable->gemm));
  const Sm90GemmPlan& tuned = std::get<Sm90GroupedPlan>(plan).gemm;
  return std::string("by ") + kGroups[static_cast<int>(tuned.tile.groups)] + " " +
         to_line(GemmPlan(tuned));
}

}  // namespace deep_gemm
