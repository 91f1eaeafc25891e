// From a valid gate problem, router logits and addresses to chosen experts (or an enqueued choice).
//   if (launch_gate(problem, placement, knobs, addresses)) return;
//   // false: there is no compiler on this machine, and no kernel in any cache
// Leaves plans to plan/, parameters to gate_host.cpp and gate_cuda.cpp.
#pragma once

#include <memory>

#include <deep_gemm/abi/gate_params.h>
#include <deep_gemm/csrc/launch/placement.hpp>
#include <deep_gemm/csrc/launch/prepared.hpp>
#include <deep_gemm/csrc/plan/gate_plan.hpp>
#include <deep_gemm/csrc/plan/knobs.hpp>
#include <deep_gemm/csrc/problem/gate_problem.hpp>

namespace deep_gemm {

struct GateAddresses {
  const void* logits = nullptr;
  const void* mask = nullptr;
  const void* bias = nullptr;
  const void* image_bias = nullptr;
  const void* image_mask = nullptr;
  const void* fixed_mask = nullptr;
  const void* fixed = nullptr;
  const void* physical_map = nullptr;
  const void* num_copies = nullptr;
  void* indices = nullptr;
  void* weights = nullptr;
  float scale = 1.0f;
};

using PreparedGate = Prepared<GateAddresses>;

bool launch_gate(const GateProblem& problem, const Placement& placement, const Knobs& knobs,
                 const GateAddresses& addresses);

GateParams params_of(const GateProblem& problem);
void put_addresses(GateParams& params, const GateAddresses& addresses);

// gate_host.cpp. Throws Toolchain when compiling fails; a machine without compiler is no failure.
std::shared_ptr<const PreparedGate> prepare_host_gate(const GateProblem& problem,
                                                      const HostGatePlan& plan);

// gate_cuda.cpp
std::shared_ptr<const PreparedGate> prepare_cuda_gate(const GateProblem& problem,
                                                      const PortableGatePlan& plan, int device,
                                                      const Knobs& knobs);

}  // namespace deep_gemm
