// How a GEMM will be done: chosen from legal tiles by cost, the same in every process.
//   GemmPlan plan = plan_gemm(problem, traits, knobs);      // throws Unsupported by rule
//   to_line(plan);    // the golden format, the debug print and the bench column
// Pure: no device, clock, environment or state. Leaves text to source/ and launching to launch/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <deep_gemm/abi/gemm_params.h>
#include <deep_gemm/abi/host_gemm.h>
#include <deep_gemm/abi/portable_gemm_params.h>
#include <deep_gemm/csrc/plan/device_traits.hpp>
#include <deep_gemm/csrc/plan/knobs.hpp>
#include <deep_gemm/csrc/problem/gemm_problem.hpp>

namespace deep_gemm {

struct HostGemmPlan {
  HostGemmConfig config;  // what the kernel is compiled for
  std::int64_t block_m = 0, block_n = 0;
  std::uint32_t grid_m = 1, grid_n = 1;
  int num_threads = 1;
  std::int64_t workspace_bytes = 0;  // of one thread
};

// Any GPU from sm_80 on.
struct PortableGemmPlan {
  PortableGemmConfig config;            // what the kernel is compiled for
  std::uint32_t grid = 1;               // blocks
  int num_threads = 0, smem_bytes = 0;  // of a block
  int band = 1;                         // row tiles walked together
};

// Hopper.
struct Sm90GemmPlan {
  TileConfig tile;  // what the kernel is compiled for
  std::uint32_t grid = 1;
  int num_threads = 0, smem_bytes = 0;
  int band = 1;
};

// One alternative per kernel family.
using GemmPlan = std::variant<HostGemmPlan, PortableGemmPlan, Sm90GemmPlan>;

GemmPlan plan_gemm(const GemmProblem& problem, const DeviceTraits& traits, const Knobs& knobs,
                   std::string_view op = "gemm");
std::string to_line(const GemmPlan& plan);

// Every kernel that plan_gemm can pick for these operands on this device, whatever m, n and k are.
std::vector<HostGemmConfig> reachable_host_configs(const GemmProblem& problem,
                                                   const DeviceTraits& traits);

}  // namespace deep_gemm
