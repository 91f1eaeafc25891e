#include <algorithm>

#include <deep_gemm/csrc/plan/gemm_legality.hpp>
#include <deep_gemm/csrc/plan/gemm_plan_cuda.hpp>

namespace deep_gemm::plan {
namespace {

constexpr std::int64_t kMaxSize = (std::int64_t{1} << 31) - 1;

Broken first_size_rule(const GemmProblem& p) {
  for (const std::int64_t size : {p.m, p.n, p.k})
    if (size > kMaxSize) return {Rule::SizeLimit, kMaxSize, size};
  return {};
}

// Rows are at least as long as what lies in them, and start on 16 bytes.
bool is_tma_row(std::int64_t rows, std::int64_t stride_bytes, std::int64_t row_bytes) {
  return rows <= 1 || (stride_bytes % 16 == 0 && stride_bytes >= row_bytes);
}

Broken first_sm90_operand_rule(const GemmProblem& p) {
  const bool is_fp8 = p.a.type == ElementType::E4m3 && p.b.type == ElementType::E4m3 &&
                      p.a.major == Major::K && p.b.major == Major::K;
  const auto scale = [](const GemmScale& s, std::int64_t gran_mn) {
    return s.type == ScaleType::F32 && s.gran_mn == gran_mn && s.gran_k == 128;
  };
  const bool is_output =
      p.d_type == OutputType::Bf16 && p.accumulate == Accumulate::None && !p.has_alpha;
  if (!is_fp8 || !scale(p.a_scale, 1) || !scale(p.b_scale, 128) || !is_output)
    return {Rule::Sm90Operands, 0, 0};
  if (p.alignment < 16 || p.d_alignment < 16 || !is_tma_row(p.m, p.a.stride_bytes, p.k) ||
      !is_tma_row(p.n, p.b.stride_bytes, p.k) || !is_tma_row(p.m, p.d_stride * 2, p.n * 2))
    return {Rule::TmaAlignment, 16, std::min(p.alignment, p.d_alignment)};
  return {};
}

}  // namespace

Broken first_broken_rule(const GemmProblem& p, const PortableGemmPlan& tile,
                         const DeviceTraits& traits) {
  const PortableGemmConfig& c = tile.config;
  constexpr int kAtom = 16, kOldest = 80, kSums = 128;
  if (!traits.is_cuda() || traits.compute < kOldest) return {Rule::NoKernelForDevice, 0, 0};
  if (const Broken size = first_size_rule(p); size.rule != Rule::None) return size;
  if (c.block_m % (kAtom * c.warps_m) != 0 || c.block_n % (kAtom * c.warps_n) != 0)
    return {Rule::TileAtom, kAtom, c.block_m};
  // Why: element by element loads hold a tile's bytes one a register before they are joined.
  const int most = c.a_bytes == 16 ? kSums : kSums / 2, sums = portable_sums(c);
  if (sums > most) return {Rule::Registers, most, sums};
  const std::int64_t bytes = portable_smem_bytes(c);
  if (bytes > traits.smem_bytes) return {Rule::SmemBytes, traits.smem_bytes, bytes};
  return {};
}

Broken first_broken_rule(const GemmProblem& p, const Sm90GemmPlan& plan,
                         const DeviceTraits& traits) {
  const TileConfig& t = plan.tile;
  constexpr int kRows = 64, kColumns = 16, kStoreColumns = 64, kSums = 200;
  if (!traits.is_cuda() || traits.arch != "90a") return {Rule::NoKernelForDevice, 0, 0};
  if (const Broken size = first_size_rule(p); size.rule != Rule::None) return size;
  if (const Broken operand = first_sm90_operand_rule(p); operand.rule != Rule::None) return operand;
  if (t.block_m != kRows * t.math_warpgroups) return {Rule::TileAtom, kRows, t.block_m};
  if (t.block_n % (kColumns * t.n_parts) != 0 || t.block_n < kStoreColumns || t.block_n > 256)
    return {Rule::TileAtom, kColumns, t.block_n};
  const std::int64_t part = t.block_n / t.n_parts / 2;  // registers of a product
  const std::int64_t sums = t.block_n / 2;
  if (sums + t.products * part > kSums) return {Rule::Registers, kSums, sums + t.products * part};
  const std::int64_t bytes = sm90_fp8_smem_bytes(t);
  if (bytes > traits.smem_bytes) return {Rule::SmemBytes, traits.smem_bytes, bytes};
  return {};
}

}  // namespace deep_gemm::plan
