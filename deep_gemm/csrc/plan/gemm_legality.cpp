#include <deep_gemm/csrc/plan/gemm_legality.hpp>

#include <deep_gemm/csrc/problem/sizes.hpp>

namespace deep_gemm::plan {

std::int64_t host_workspace_bytes(const HostGemmConfig& config, std::int64_t block_m,
                                  std::int64_t block_n) {
  constexpr std::int64_t kSlack = 8, kLine = 16;  // floats
  const std::int64_t cols = config.vectors * config.vector_bytes / 4;
  const std::int64_t rows_padded = round_up(block_m, config.rows);
  const std::int64_t cols_padded = round_up(block_n, cols);
  const std::int64_t floats = round_up(rows_padded * config.block_k + kSlack, kLine) +
                              round_up(cols * config.block_k + kSlack, kLine) +
                              round_up(rows_padded * cols_padded, kLine) +
                              round_up(rows_padded, kLine) + round_up(cols_padded, kLine);
  return floats * 4;
}

Broken first_broken_rule(const GemmProblem&, const HostGemmPlan& tile, const DeviceTraits& traits) {
  const HostGemmConfig& c = tile.config;
  if (c.vector_bytes != traits.vector_bytes ||
      (c.vector_bytes != 16 && c.vector_bytes != 32 && c.vector_bytes != 64))
    return {Rule::VectorBytes, c.vector_bytes, traits.vector_bytes};
  if (c.rows < 1 || (c.rows > 7 && c.rows % 8 != 0)) return {Rule::TileRows, 7, c.rows};
  // Why even: rows of an operand with two values a byte start at a byte.
  if (tile.block_m % 2 != 0 || tile.block_n % 2 != 0 || c.rows % 2 != 0)
    return {Rule::TileRows, 2, tile.block_m};
  const std::int64_t bytes = host_workspace_bytes(c, tile.block_m, tile.block_n);
  if (bytes > kMaxWorkspaceBytes) return {Rule::Workspace, kMaxWorkspaceBytes, bytes};
  return {};
}

}  // namespace deep_gemm::plan
