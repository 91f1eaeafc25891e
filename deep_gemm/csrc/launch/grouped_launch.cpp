#include <deep_gemm/csrc/launch/grouped_launch.hpp>

#include <deep_gemm/csrc/launch/jit.hpp>

namespace deep_gemm {
namespace {

std::shared_ptr<const PreparedGrouped> prepare(std::string_view op, const GroupedProblem& problem,
                                               const Placement& placement, const Knobs& knobs,
                                               const GroupedAddresses& addresses) {
  const GroupedPlan plan = plan_grouped(problem, traits_at(placement), knobs, op);
  if (const auto* host = std::get_if<HostGroupedPlan>(&plan))
    return prepare_host_grouped(problem, *host);
  return prepare_cuda_grouped(problem, plan, knobs, placement.index, addresses);
}

}  // namespace

bool launch_grouped(std::string_view op, const GroupedProblem& problem, const Placement& placement,
                    const Knobs& knobs, const GroupedAddresses& addresses) {
  return launch_prepared(problem, placement, knobs, addresses,
                         [&] { return prepare(op, problem, placement, knobs, addresses); });
}

}  // namespace deep_gemm
