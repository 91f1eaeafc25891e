// A plan on one line.
#include <deep_gemm/csrc/plan/gemm_plan.hpp>
#include <deep_jit/utils/str.hpp>

namespace deep_gemm {
namespace {

std::string operand(ElementType type, Major major) {
  constexpr const char* kTypes[] = {"e4m3", "e2m1", "bf16"};
  return std::string(kTypes[static_cast<int>(type)]) + (major == Major::K ? ":k" : ":mn");
}

std::string line(const HostGemmPlan& p) {
  return deep_jit::str::format(
      "host {} x {} tile {}x{}x{} vector {} block {}x{} grid {}x{} threads {} workspace {}",
      operand(p.config.a, p.config.a_major), operand(p.config.b, p.config.b_major), p.config.rows,
      p.config.vectors * p.config.vector_bytes / 4, p.config.block_k, p.config.vector_bytes,
      p.block_m, p.block_n, p.grid_m, p.grid_n, p.num_threads, p.workspace_bytes);
}

std::string line(const PortableGemmPlan& p) {
  const PortableGemmConfig& c = p.config;
  return deep_jit::str::format(
      "portable {} x {} access {},{} scale_k {} tile {}x{} warps {}x{} stages {} blocks {} grid {} "
      "threads {}"
      " smem {} band {}",
      operand(c.a, c.a_major), operand(c.b, c.b_major), c.a_bytes, c.b_bytes, c.scale_k, c.block_m,
      c.block_n, c.warps_m, c.warps_n, c.stages, c.blocks_per_sm, p.grid, p.num_threads,
      p.smem_bytes, p.band);
}

std::string line(const Sm90GemmPlan& p) {
  constexpr const char* kShares[] = {"", " share a", " share b"};
  const TileConfig& t = p.tile;
  constexpr const char* kAdds[] = {"", " add to d", " add c"};
  const std::string types = t.type == ElementType::Bf16
                                ? operand(t.type, t.a_major) + " x " + operand(t.type, t.b_major)
                                : std::string(t.b_scale_rows == 1 ? "fp8 rows" : "fp8");
  return deep_jit::str::format(
      "sm90 {}{}{} tile {}x{} stages {} warpgroups {} parts {} products {} slots {} cluster {}{} "
      "grid {} threads {} smem {} band {}",
      types, t.d_type == OutputType::F32 ? " to f32" : "", kAdds[static_cast<int>(t.add_to)],
      t.block_m, t.block_n, t.stages, t.math_warpgroups, t.n_parts, t.products, t.store_slots,
      t.cluster, kShares[static_cast<int>(t.share)], p.grid, p.num_threads, p.smem_bytes, p.band);
}

}  // namespace

std::string to_line(const GemmPlan& plan) {
  return std::visit([](const auto& p) { return line(p); }, plan);
}

}  // namespace deep_gemm
