#include <deep_gemm/csrc/plan/gate_plan.hpp>

#include <algorithm>

#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_gemm/csrc/problem/sizes.hpp>
#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/str.hpp>

namespace deep_gemm {
namespace {

// Tokens that pay for waking a thread.
constexpr std::int64_t kHostTokensPerBlock = 16;

int per_lane_of(int experts) {
  int per_lane = 1;
  while (per_lane * 32 < experts) per_lane *= 2;
  return per_lane;
}

}  // namespace

GatePlan plan_gate(const GateProblem& p, const DeviceTraits& traits) {
  DJ_HOST_ASSERT(p.rows > 0 && p.experts > 0 && p.experts <= kMaxGateExperts, "{}", p.to_string());
  if (!traits.is_cuda()) {
    HostGatePlan plan;
    plan.num_threads = std::max(1, traits.num_threads);
    plan.grid = static_cast<std::uint32_t>(std::min<std::int64_t>(
        ceil_div(p.rows, kHostTokensPerBlock), 4 * std::int64_t{plan.num_threads}));
    return plan;
  }
  if (traits.compute < 80)
    refuse(Rule::NoKernelForDevice,
           {"bf16_mega_gate", "x", "a tensor on cuda, arch " + traits.arch},
           {"cuda arch " + traits.arch});
  PortableGatePlan plan;
  plan.config.per_lane = per_lane_of(p.experts);
  plan.grid = static_cast<std::uint32_t>(ceil_div(p.rows, kGateThreads / 32));
  return plan;
}

std::string to_line(const GatePlan& plan) {
  if (const auto* host = std::get_if<HostGatePlan>(&plan))
    return deep_jit::str::format("host grid {} threads {}", host->grid, host->num_threads);
  const auto& portable = std::get<PortableGatePlan>(plan);
  return deep_jit::str::format("portable experts a lane {} grid {}", portable.config.per_lane,
                               portable.grid);
}

}  // namespace deep_gemm
