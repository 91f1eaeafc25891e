#include <deep_gemm/csrc/plan/gemm_plan.hpp>

#include <algorithm>

#include <deep_gemm/csrc/plan/gemm_cost_host.hpp>
#include <deep_gemm/csrc/plan/gemm_legality.hpp>
#include <deep_gemm/csrc/plan/gemm_plan_cuda.hpp>
#include <deep_gemm/csrc/plan/gemm_tiles_host.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_gemm/csrc/problem/sizes.hpp>
#include <deep_jit/utils/exception.hpp>

namespace deep_gemm {
namespace {

const plan::RegisterTileRow& register_tile(const DeviceTraits& traits, std::string_view op) {
  for (const auto& row : plan::kRegisterTiles)
    if (row.vector_bytes == traits.vector_bytes && traits.num_vector_registers >= row.num_registers)
      return row;
  refuse(Rule::VectorBytes, {op, "arch", traits.arch}, {traits.vector_bytes});
}

HostGemmConfig host_config(const GemmProblem& p, const DeviceTraits& traits, std::string_view op) {
  const auto& tile = register_tile(traits, op);
  HostGemmConfig config;
  config.a = p.a.type;
  config.b = p.b.type;
  config.a_major = p.a.major;
  config.b_major = p.b.major;
  config.block_k = p.is_scaled() ? static_cast<int>(std::min(p.a_scale.gran_k, p.b_scale.gran_k))
                                 : plan::kUnscaledBlockK;
  config.rows = tile.rows;
  config.vectors = tile.vectors;
  config.vector_bytes = tile.vector_bytes;
  return config;
}

HostGemmPlan plan_host(const GemmProblem& p, const DeviceTraits& traits, std::string_view op) {
  const HostGemmConfig config = host_config(p, traits, op);
  HostGemmPlan best;
  double best_cycles = 0;
  plan::Broken broken;
  for (const auto& block : plan::kHostBlocks) {
    HostGemmPlan tile{.config = config,
                      .block_m = round_up(block.block_m, config.rows),
                      .block_n = block.block_n,
                      .num_threads = std::max(1, traits.num_threads)};
    broken = plan::first_broken_rule(p, tile, traits);
    if (broken.rule != Rule::None) continue;
    const double cycles = plan::host_cycles(p, tile, traits);
    if (best.block_m != 0 && cycles >= best_cycles) continue;  // ties: the earlier row
    best = tile;
    best_cycles = cycles;
  }
  if (best.block_m == 0)
    refuse(broken.rule, {op, "tile", traits.arch}, {broken.limit, broken.needed});
  best.grid_m = static_cast<std::uint32_t>(ceil_div(p.m, best.block_m));
  best.grid_n = static_cast<std::uint32_t>(ceil_div(p.n, best.block_n));
  best.workspace_bytes = plan::host_workspace_bytes(config, best.block_m, best.block_n);
  return best;
}

}  // namespace

GemmPlan plan_gemm(const GemmProblem& problem, const DeviceTraits& traits, const Knobs& knobs,
                   std::string_view op) {
  DJ_HOST_ASSERT(problem.m > 0 && problem.n > 0 && problem.k > 0, "{}", problem.to_string());
  return traits.is_cuda() ? plan::plan_cuda(problem, traits, knobs, op)
                          : GemmPlan(plan_host(problem, traits, op));
}

std::vector<HostGemmConfig> reachable_host_configs(const GemmProblem& problem,
                                                   const DeviceTraits& traits) {
  return {host_config(problem, traits, "gemm")};
}

}  // namespace deep_gemm
