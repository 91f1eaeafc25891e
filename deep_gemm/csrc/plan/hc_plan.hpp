// How a hyper-connection product will be done: the same in every process.
//   HcPlan plan = plan_hc(problem, traits, knobs);      // throws Unsupported by rule
//   to_line(plan);    // the golden format, the debug print and the bench column
// Pure: no device, clock, environment or state. The tables are in hc_tiles.hpp. Leaves text to
// source/ and launching to launch/.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <deep_gemm/abi/hc_flat_params.h>
#include <deep_gemm/abi/hc_params.h>
#include <deep_gemm/csrc/plan/device_traits.hpp>
#include <deep_gemm/csrc/plan/knobs.hpp>
#include <deep_gemm/csrc/problem/hc_problem.hpp>

namespace deep_gemm {

struct HostHcPlan {
  int columns = 24;  // of a pass over A
  std::int64_t block_m = 0;
  std::uint32_t grid_m = 1;
  int num_threads = 1;
  std::int64_t workspace_bytes = 0;  // of one thread
};

struct PortableHcPlan {
  HcFlatConfig config;
  std::uint32_t grid_x = 1, grid_y = 1;  // row tiles * splits, column groups
  int threads = 0, smem_bytes = 0;
};

struct Sm90HcPlan {
  HcConfig config;
  int tiles = 0, lanes = 0;  // row tiles, clusters a split
  std::uint32_t grid = 1;
  int threads = 0, smem_bytes = 0;
};

using HcPlan = std::variant<HostHcPlan, PortableHcPlan, Sm90HcPlan>;

HcPlan plan_hc(const HcProblem& problem, const DeviceTraits& traits, const Knobs& knobs);
std::string to_line(const HcPlan& plan);

// A plan of every kernel that plan_hc can pick for these operands, whatever m and splits are.
std::vector<HcPlan> reachable_hc_plans(const HcProblem& problem, const DeviceTraits& traits,
                                       const Knobs& knobs);

}  // namespace deep_gemm
