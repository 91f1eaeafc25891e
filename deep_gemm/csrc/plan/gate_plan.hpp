// How the experts of router logits will be chosen: which kernel, on which grid. The product that
// makes the logits is a dense GEMM with a plan of its own.
//   GatePlan plan = plan_gate(problem, traits);      // throws by rule
//   to_line(plan);    // the golden format and the debug print
// Pure: no device, clock, environment or state. Leaves text to source/ and launching to launch/.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include <deep_gemm/abi/gate_params.h>
#include <deep_gemm/csrc/plan/device_traits.hpp>
#include <deep_gemm/csrc/problem/gate_problem.hpp>

namespace deep_gemm {

struct HostGatePlan {
  std::uint32_t grid = 1;
  int num_threads = 1;
};

struct PortableGatePlan {
  GateConfig config;
  std::uint32_t grid = 1;
};

using GatePlan = std::variant<HostGatePlan, PortableGatePlan>;

GatePlan plan_gate(const GateProblem& problem, const DeviceTraits& traits);
std::string to_line(const GatePlan& plan);

}  // namespace deep_gemm
