#include <deep_gemm/csrc/plan/gemm_cost_host.hpp>

#include <algorithm>

#include <deep_gemm/csrc/problem/sizes.hpp>

namespace deep_gemm::plan {
namespace {

// Rounded figures of one core with two multiply-add units.
constexpr double kPackCyclesPerElement = 0.9;
constexpr double kTileCycles = 20;     // to start a register tile and add it to the sums
constexpr double kBlockCycles = 3000;  // to take a block and write its part of d
constexpr double kL3BytesPerCycle = 8;

double block_cycles(std::int64_t rows, std::int64_t cols, std::int64_t k, const HostGemmConfig& c,
                    std::int64_t l2_bytes) {
  if (rows == 0 || cols == 0) return 0;
  const std::int64_t lanes = c.vector_bytes / 4;
  const std::int64_t tile_cols = c.vectors * lanes;
  const std::int64_t rows_padded = rows == 1 ? 1 : round_up(rows, c.rows);
  const std::int64_t cols_padded = round_up(cols, tile_cols);
  const auto num_k_blocks = static_cast<double>(ceil_div(k, c.block_k));
  const double tiles = static_cast<double>(ceil_div(rows, c.rows) * (cols_padded / tile_cols));
  const double multiply =
      static_cast<double>(rows_padded * cols_padded / lanes) * static_cast<double>(k) / 2.0;
  const double pack =
      static_cast<double>(rows + cols) * static_cast<double>(k) * kPackCyclesPerElement;
  const std::int64_t sum_bytes = rows_padded * cols_padded * 4;
  const bool spills = sum_bytes + rows_padded * c.block_k * 4 > l2_bytes;
  const double stream =
      spills ? 2.0 * static_cast<double>(sum_bytes) / kL3BytesPerCycle * num_k_blocks * 0.5 : 0;
  return multiply + pack + stream + tiles * kTileCycles * num_k_blocks + kBlockCycles;
}

}  // namespace

double host_cycles(const GemmProblem& problem, const HostGemmPlan& tile,
                   const DeviceTraits& traits) {
  const HostGemmConfig& c = tile.config;
  const auto cost = [&](std::int64_t rows, std::int64_t cols) {
    return block_cycles(rows, cols, problem.k, c, traits.l2_bytes);
  };
  const std::int64_t full_m = problem.m / tile.block_m, rest_m = problem.m % tile.block_m;
  const std::int64_t full_n = problem.n / tile.block_n, rest_n = problem.n % tile.block_n;
  const double whole = cost(tile.block_m, tile.block_n);
  const double total = static_cast<double>(full_m) * static_cast<double>(full_n) * whole +
                       static_cast<double>(full_m) * cost(tile.block_m, rest_n) +
                       static_cast<double>(full_n) * cost(rest_m, tile.block_n) +
                       cost(rest_m, rest_n);
  const double largest = full_m > 0 && full_n > 0 ? whole
                         : full_m > 0             ? cost(tile.block_m, rest_n)
                         : full_n > 0             ? cost(rest_m, tile.block_n)
                                                  : cost(rest_m, rest_n);
  // Blocks are handed out one by one: on average the last thread ends half a block late.
  const double threads = std::max(1, traits.num_threads);
  return std::max(largest, total / threads + (threads > 1 ? largest / 2 : 0));
}

}  // namespace deep_gemm::plan
