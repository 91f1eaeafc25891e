#include <deep_gemm/csrc/launch/gemm_launch.hpp>

#include <deep_gemm/csrc/launch/jit.hpp>

namespace deep_gemm {
namespace {

std::shared_ptr<const PreparedGemm> prepare(std::string_view op, const GemmProblem& problem,
                                            const Placement& placement, const Knobs& knobs,
                                            const GemmAddresses& addresses) {
  const DeviceTraits traits = traits_at(placement);
  const GemmPlan plan = plan_gemm(problem, traits, knobs, op);
  if (const auto* host = std::get_if<HostGemmPlan>(&plan)) return prepare_host_gemm(problem, *host);
  return prepare_cuda_gemm(problem, plan, knobs, placement.index, addresses);
}

}  // namespace

bool launch_gemm(std::string_view op, const GemmProblem& problem, const Placement& placement,
                 const Knobs& knobs, const GemmAddresses& addresses) {
  return launch_prepared(problem, placement, knobs, addresses,
                         [&] { return prepare(op, problem, placement, knobs, addresses); });
}

}  // namespace deep_gemm
