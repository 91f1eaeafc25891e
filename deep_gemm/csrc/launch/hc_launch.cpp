#include <deep_gemm/csrc/launch/hc_launch.hpp>

#include <deep_gemm/csrc/launch/jit.hpp>

namespace deep_gemm {
namespace {

std::shared_ptr<const PreparedHc> prepare(const HcProblem& problem, const Placement& placement,
                                          const Knobs& knobs, const HcAddresses& addresses) {
  const HcPlan plan = plan_hc(problem, traits_at(placement), knobs);
  if (const auto* host = std::get_if<HostHcPlan>(&plan)) return prepare_host_hc(problem, *host);
  return prepare_cuda_hc(problem, plan, placement.index, knobs.pdl != 0, addresses);
}

}  // namespace

bool launch_hc(const HcProblem& problem, const Placement& placement, const Knobs& knobs,
               const HcAddresses& addresses) {
  return launch_prepared(problem, placement, knobs, addresses,
                         [&] { return prepare(problem, placement, knobs, addresses); });
}

HcFlatParams hc_flat_params(const HcProblem& p) {
  HcFlatParams params{};
  params.a_stride = p.a_stride;
  params.b_stride = p.b_stride;
  params.m = static_cast<int>(p.m);
  params.n = static_cast<int>(p.n);
  params.k = static_cast<int>(p.k);
  params.splits = static_cast<int>(p.splits);
  return params;
}

}  // namespace deep_gemm
