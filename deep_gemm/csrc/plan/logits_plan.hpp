// How indexer logits will be done: which kernel, compiled for what, on which grid.
//   LogitsPlan plan = plan_logits(problem, traits, knobs, "fp8_mqa_logits");   // throws by rule
//   to_line(plan);    // the golden format and the debug print
// Pure: no device, clock, environment or state. Leaves text to source/ and launching to launch/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <deep_gemm/abi/logits_params.h>
#include <deep_gemm/abi/mqa_params.h>
#include <deep_gemm/csrc/plan/device_traits.hpp>
#include <deep_gemm/csrc/plan/knobs.hpp>
#include <deep_gemm/csrc/problem/logits_problem.hpp>

namespace deep_gemm {

struct HostLogitsPlan {
  LogitsConfig config;  // what the kernel is compiled for
  std::uint32_t grid_x = 1, grid_y = 1;
  int block_rows = 1;
  int num_threads = 1;
};

// mma.sync with bf16 operands: any GPU from compute 8.0 on.
struct PortableLogitsPlan {
  LogitsConfig config;
  std::uint32_t grid_x = 1, grid_y = 1;
  int block_rows = 1;
  int smem_bytes = 0;
};

// Hopper, contiguous keys: sm90/fp8_mqa_logits.cuh.
struct Sm90LogitsPlan {
  MqaConfig config;
  std::uint32_t grid = 1;
  int num_threads = 512;
  int smem_bytes = 0;
};

// Hopper, paged keys: sm90/fp8_paged_mqa_logits.cuh.
struct Sm90PagedLogitsPlan {
  PagedMqaConfig config;
  std::uint32_t grid_x = 1, grid_y = 1;
  int num_threads = 512;
  int smem_bytes = 0;
};

// One alternative per back end and generation.
using LogitsPlan =
    std::variant<HostLogitsPlan, PortableLogitsPlan, Sm90LogitsPlan, Sm90PagedLogitsPlan>;

LogitsPlan plan_logits(const LogitsProblem& problem, const DeviceTraits& traits, const Knobs& knobs,
                       std::string_view op);
std::string to_line(const LogitsPlan& plan);

// A plan of every kernel that plan_logits can pick for such heads, keys and pages, however many
// there are and whatever the type of the weights.
std::vector<LogitsPlan> reachable_logits_plans(const LogitsProblem& problem,
                                               const DeviceTraits& traits, const Knobs& knobs,
                                               std::string_view op);

}  // namespace deep_gemm
