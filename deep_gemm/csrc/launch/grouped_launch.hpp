// From a valid problem and addresses to a finished (or enqueued) grouped GEMM.
//   if (launch_grouped("m_grouped_bf16_gemm_nt_masked", problem, placement, knobs, at)) return;
//   // false: there is no compiler on this machine, and no kernel in any cache
// Leaves plans to plan/ and parameters to grouped_host.cpp and grouped_cuda.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <deep_gemm/csrc/launch/placement.hpp>
#include <deep_gemm/csrc/launch/prepared.hpp>
#include <deep_gemm/csrc/plan/grouped_plan.hpp>
#include <deep_gemm/csrc/plan/knobs.hpp>
#include <deep_gemm/csrc/problem/grouped_problem.hpp>

namespace deep_gemm {

struct GroupedAddresses {
  const void* a = nullptr;
  const void* a_scale = nullptr;
  const void* b = nullptr;
  const void* b_scale = nullptr;
  void* d = nullptr;
  const void* c = nullptr;
  const std::int32_t* layout = nullptr;  // on the device of the others
  float alpha = 1.0f;
};

bool launch_grouped(std::string_view op, const GroupedProblem& problem, const Placement& placement,
                    const Knobs& knobs, const GroupedAddresses& addresses);

using PreparedGrouped = Prepared<GroupedAddresses>;

// grouped_host.cpp. Throws Toolchain when compiling fails; a machine without compiler is no
// failure.
std::shared_ptr<const PreparedGrouped> prepare_host_grouped(const GroupedProblem& problem,
                                                            const HostGroupedPlan& plan);

// grouped_cuda.cpp. Compiles for, and loads on, that device. The addresses are those of the first
// call.
std::shared_ptr<const PreparedGrouped> prepare_cuda_grouped(const GroupedProblem& problem,
                                                            const GroupedPlan& plan,
                                                            const Knobs& knobs, int device,
                                                            const GroupedAddresses& addresses);

}  // namespace deep_gemm
