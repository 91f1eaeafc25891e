// What a host GEMM costs, in cycles of the slowest thread.
//   double cycles = plan::host_cycles(problem, tile, traits);
// A model to rank tiles by, not a promise. Leaves legality to gemm_legality.
#pragma once

#include <deep_gemm/csrc/plan/device_traits.hpp>
#include <deep_gemm/csrc/plan/gemm_plan.hpp>

namespace deep_gemm::plan {

double host_cycles(const GemmProblem& problem, const HostGemmPlan& tile,
                   const DeviceTraits& traits);

}  // namespace deep_gemm::plan
