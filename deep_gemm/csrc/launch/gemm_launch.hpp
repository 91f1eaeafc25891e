// From a valid problem and addresses to a finished (or enqueued) GEMM.
//   if (launch_gemm("fp8_gemm_nt", problem, placement, knobs, addresses)) return;
//   // false: there is no compiler on this machine, and no kernel in any cache
// The first call of a problem plans, compiles and loads; later ones look the result up and fill in
// addresses. Leaves plans to plan/ and parameters to gemm_host.cpp and gemm_cuda.cpp.
#pragma once

#include <memory>
#include <string_view>

#include <deep_gemm/csrc/launch/placement.hpp>
#include <deep_gemm/csrc/launch/prepared.hpp>
#include <deep_gemm/csrc/plan/gemm_plan.hpp>
#include <deep_gemm/csrc/plan/knobs.hpp>
#include <deep_gemm/csrc/problem/gemm_problem.hpp>

namespace deep_gemm {

struct GemmAddresses {
  const void* a = nullptr;
  const void* a_scale = nullptr;
  const void* b = nullptr;
  const void* b_scale = nullptr;
  void* d = nullptr;
  const void* c = nullptr;
  float alpha = 1.0f;
};

bool launch_gemm(std::string_view op, const GemmProblem& problem, const Placement& placement,
                 const Knobs& knobs, const GemmAddresses& addresses);

using PreparedGemm = Prepared<GemmAddresses>;

// gemm_host.cpp. Throws Toolchain when compiling fails; a machine without compiler is no failure.
std::shared_ptr<const PreparedGemm> prepare_host_gemm(const GemmProblem& problem,
                                                      const HostGemmPlan& plan);

// gemm_cuda.cpp. Compiles for, and loads on, that device. The addresses are those of the first
// call.
std::shared_ptr<const PreparedGemm> prepare_cuda_gemm(const GemmProblem& problem,
                                                      const GemmPlan& plan, const Knobs& knobs,
                                                      int device, const GemmAddresses& addresses);

}  // namespace deep_gemm
