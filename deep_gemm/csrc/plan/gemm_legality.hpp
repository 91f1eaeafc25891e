// May this tile run this problem on this device? The one predicate: the planner filters by it,
// tests walk the whole space with it.
//   plan::Broken broken = plan::first_broken_rule(problem, tile, traits);   // .rule == Rule::None:
//   legal
// Leaves cost to gemm_cost_host and gemm_cost_cuda.
#pragma once

#include <cstdint>

#include <deep_gemm/csrc/plan/device_traits.hpp>
#include <deep_gemm/csrc/plan/gemm_plan.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_gemm/csrc/problem/gemm_problem.hpp>

namespace deep_gemm::plan {

struct Broken {
  Rule rule = Rule::None;
  std::int64_t limit = 0, needed = 0;
};

Broken first_broken_rule(const GemmProblem& problem, const HostGemmPlan& tile,
                         const DeviceTraits& traits);
// gemm_legality_cuda.cpp.
Broken first_broken_rule(const GemmProblem& problem, const PortableGemmPlan& tile,
                         const DeviceTraits& traits);
Broken first_broken_rule(const GemmProblem& problem, const Sm90GemmPlan& tile,
                         const DeviceTraits& traits);

// Bytes of one thread's workspace: the sum of what host/gemm.hpp carves.
std::int64_t host_workspace_bytes(const HostGemmConfig& config, std::int64_t block_m,
                                  std::int64_t block_n);

inline constexpr std::int64_t kMaxWorkspaceBytes = std::int64_t{8} << 20;

}  // namespace deep_gemm::plan
