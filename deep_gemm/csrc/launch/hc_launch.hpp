// From a valid hyper-connection problem and addresses to a finished (or enqueued) product.
//   if (launch_hc(problem, placement, knobs, addresses)) return;
//   // false: there is no compiler on this machine, and no kernel in any cache
// Leaves plans to plan/, parameters to hc_host.cpp and hc_cuda.cpp.
#pragma once

#include <memory>

#include <deep_gemm/csrc/launch/placement.hpp>
#include <deep_gemm/csrc/launch/prepared.hpp>
#include <deep_gemm/csrc/plan/hc_plan.hpp>
#include <deep_gemm/csrc/plan/knobs.hpp>
#include <deep_gemm/csrc/problem/hc_problem.hpp>

namespace deep_gemm {

struct HcAddresses {
  const void* a = nullptr;
  const float* b = nullptr;
  float* d = nullptr;
  float* sqr_sum = nullptr;
};

using PreparedHc = Prepared<HcAddresses>;

bool launch_hc(const HcProblem& problem, const Placement& placement, const Knobs& knobs,
               const HcAddresses& addresses);

// hc_host.cpp. Throws Toolchain when compiling fails; a machine without compiler is no failure.
std::shared_ptr<const PreparedHc> prepare_host_hc(const HcProblem& problem, const HostHcPlan& plan);

// hc_cuda.cpp. `addresses` are of the first call: later ones move the tensor maps.
std::shared_ptr<const PreparedHc> prepare_cuda_hc(const HcProblem& problem, const HcPlan& plan,
                                                  int index, bool pdl,
                                                  const HcAddresses& addresses);

// What the kernels that read plain memory are told, but for addresses.
HcFlatParams hc_flat_params(const HcProblem& problem);

}  // namespace deep_gemm
