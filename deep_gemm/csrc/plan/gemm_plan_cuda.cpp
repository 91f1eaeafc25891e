#include <deep_gemm/csrc/plan/gemm_plan_cuda.hpp>

#include <algorithm>
#include <bit>
#include <span>

#include <deep_gemm/csrc/plan/gemm_cost_cuda.hpp>
#include <deep_gemm/csrc/plan/gemm_legality.hpp>
#include <deep_gemm/csrc/plan/gemm_tiles_sm90.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_gemm/csrc/problem/sizes.hpp>

namespace deep_gemm::plan {
namespace {

int element_access(const GemmOperand& x) { return x.type == ElementType::Bf16 ? 2 : 1; }

// Lines of a direction of size 1 have no stride that matters.
bool is_aligned(const GemmOperand& x, std::int64_t mn, std::int64_t k) {
  return (x.major == Major::K ? mn : k) <= 1 || x.stride_bytes % 16 == 0;
}

PortableGemmPlan portable_plan(const GemmProblem& p, const PortableTileRow& row, int num_sms) {
  PortableGemmPlan plan;
  plan.config = portable_config(p, row);
  plan.num_threads = portable_threads(plan.config);
  plan.smem_bytes = static_cast<int>(portable_smem_bytes(plan.config));
  plan.band = kPortableBand;
  const int blocks = std::max(1, p.is_scaled() ? row.scaled_blocks_per_sm : row.blocks_per_sm);
  const std::int64_t tiles = ceil_div(p.m, row.block_m) * ceil_div(p.n, row.block_n);
  plan.grid = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(tiles, 1, std::int64_t{num_sms} * blocks));
  return plan;
}

// The rows that a problem's operands choose from.
std::span<const Sm90TileRow> sm90_rows(const GemmProblem& p) {
  if (!p.is_scaled()) return kSm90Bf16Tiles;
  if (p.b_scale.gran_mn == 1) return kSm90Fp8RowsTiles;
  return kSm90Fp8Tiles;
}

Sm90GemmPlan sm90_plan(const GemmProblem& p, const TileConfig& row, int num_sms) {
  const TileConfig tile = sm90_tile(p, row);
  Sm90GemmPlan plan;
  plan.tile = tile;
  plan.num_threads = sm90_threads(tile);
  plan.smem_bytes = static_cast<int>(sm90_smem_bytes(tile));
  const int span_m = tile.block_m * (tile.share == Share::B ? tile.cluster : 1);
  const int span_n = tile.block_n * (tile.share == Share::A ? tile.cluster : 1);
  plan.band = std::max(1, kSm90BandRows / span_m);
  const std::int64_t tiles = ceil_div(p.m, span_m) * ceil_div(p.n, span_n);
  plan.grid = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(tiles, 1, std::max(1, num_sms / tile.cluster)) * tile.cluster);
  return plan;
}

// The cheapest legal row of a table; null where none is legal, and then `broken` says why.
template <class Rows, class MakePlan, class Cycles>
auto* cheapest(const GemmProblem& p, const DeviceTraits& traits, const Rows& rows,
               const MakePlan& make, const Cycles& cycles, Broken& broken) {
  const typename Rows::value_type* best = nullptr;
  double best_cycles = 0;
  for (const auto& row : rows) {
    const Broken why = first_broken_rule(p, make(row), traits);
    if (why.rule != Rule::None) {
      broken = why;
      continue;
    }
    const double cost = cycles(row);
    if (best != nullptr && cost >= best_cycles) continue;  // ties: the earlier row
    best = &row;
    best_cycles = cost;
  }
  return best;
}

}  // namespace

int usable_sms(const DeviceTraits& traits, const Knobs& knobs) {
  const int all = std::max(1, traits.num_sms);
  return knobs.num_sms > 0 ? std::min(knobs.num_sms, all) : all;
}

bool reads_whole_chunks(const GemmProblem& p) {
  return p.alignment == 16 && is_aligned(p.a, p.m, p.k) && is_aligned(p.b, p.n, p.k);
}

PortableGemmConfig portable_config(const GemmProblem& p, const PortableTileRow& row) {
  PortableGemmConfig config;
  config.a = p.a.type;
  config.b = p.b.type;
  config.a_major = p.a.major;
  config.b_major = p.b.major;
  const bool is_whole = reads_whole_chunks(p);
  config.a_bytes = is_whole ? 16 : element_access(p.a);
  config.b_bytes = is_whole ? 16 : element_access(p.b);
  config.scale_k =
      p.is_scaled() ? static_cast<int>(std::min(p.a_scale.gran_k, p.b_scale.gran_k)) : 0;
  config.block_m = row.block_m;
  config.block_n = row.block_n;
  config.warps_m = row.warps_m;
  config.warps_n = row.warps_n;
  // Elsewhere ptxas finds its own way, and a bound would make it spill.
  config.blocks_per_sm = is_whole && !p.is_scaled() ? row.blocks_per_sm : 1;
  config.stages = is_whole && p.a.type == ElementType::Bf16 ? row.copied_stages : 2;
  return config;
}

int portable_sums(const PortableGemmConfig& c) {
  return c.block_m * c.block_n / portable_threads(c) * (c.scale_k == 0 ? 1 : 2);
}

int portable_threads(const PortableGemmConfig& c) { return 32 * c.warps_m * c.warps_n; }

std::int64_t portable_smem_bytes(const PortableGemmConfig& c) {
  const std::int64_t rows = c.block_m + c.block_n;
  const std::int64_t uses = c.scale_k == 0 ? 0 : std::max(1, kPortableBlockK / c.scale_k);
  const std::int64_t scales = uses == 0 ? 2 : uses * rows;  // a struct member has a size
  return round_up(c.stages * (rows * kPortableBlockK * 2 + scales * 4), 128);
}

int sm90_threads(const TileConfig& tile) { return 128 * (tile.math_warpgroups + 1); }

TileConfig sm90_tile(const GemmProblem& p, const TileConfig& row) {
  TileConfig tile = row;
  tile.type = p.a.type;
  tile.a_major = p.a.major;
  tile.b_major = p.b.major;
  tile.b_scale_rows = p.b_scale.gran_mn == 1 && p.is_scaled() ? 1 : 128;
  tile.d_type = p.d_type;
  tile.add_to = p.accumulate == Accumulate::None ? AddTo::Nothing
                : p.accumulate == Accumulate::InPlace && p.d_type == OutputType::F32 ? AddTo::D
                                                                                     : AddTo::C;
  return tile;
}

std::int64_t sm90_smem_bytes(const TileConfig& t) {
  constexpr std::int64_t kStageBytes = 2048, kBarrierBytes = 16;
  // The most columns that neither a block of 128 nor the cut between two products divides.
  const auto part = t.n_parts == 1 ? t.block_n : static_cast<int>(round_up(t.block_n / 2, 32));
  const int cuts = t.block_n | part | 128;
  const int span = t.b_scale_rows == 1 ? 1 : cuts & -cuts;
  const std::int64_t scales = t.block_m + round_up(t.block_n / span, 4);
  const std::int64_t slot = std::int64_t{t.block_m + t.block_n} * t.block_k +
                            (t.type == ElementType::Bf16 ? 0 : scales * 4) + kBarrierBytes;
  // Beside the ring: of a cleared tail, or of each warpgroup's stores and four tiles handed out.
  constexpr std::int64_t kBoardBytes = 4 * (48 + kBarrierBytes / 2);
  const std::int64_t barriers = t.type == ElementType::Bf16
                                    ? kBarrierBytes / 2
                                    : t.math_warpgroups * kBarrierBytes + kBoardBytes;
  const std::int64_t stores = 4 * t.math_warpgroups * t.store_slots * kStageBytes;
  return round_up(t.stages * slot + stores + barriers, 1024);
}

int sm90_a_box_rows(const TileConfig& t, std::int64_t m) {
  constexpr int kAtomRows = 8;  // of the 128-byte swizzle
  if (t.share == Share::A && t.cluster > 1) return t.block_m / t.cluster;
  if (t.groups != Groups::Dense || t.a_major != Major::K || m >= t.block_m) return t.block_m;
  return static_cast<int>(round_up(m, kAtomRows));
}

int sm90_slot_bytes(const TileConfig& t, std::int64_t m) {
  const int boxes = t.share == Share::A ? t.cluster : 1;
  return (sm90_a_box_rows(t, m) * boxes + t.block_n) * t.block_k;
}

std::optional<Sm90GemmPlan> plan_sm90(const GemmProblem& p, const DeviceTraits& traits,
                                      const Knobs& knobs) {
  const int num_sms = usable_sms(traits, knobs);
  Broken broken;
  const auto* row = cheapest(
      p, traits, sm90_rows(p), [&](const auto& r) { return sm90_plan(p, r.tile, num_sms); },
      [&](const auto& r) { return sm90_cycles(p, r, num_sms); }, broken);
  return row == nullptr ? std::nullopt : std::optional(sm90_plan(p, row->tile, num_sms));
}

GemmPlan plan_cuda(const GemmProblem& p, const DeviceTraits& traits, const Knobs& knobs,
                   std::string_view op) {
  const int num_sms = usable_sms(traits, knobs);
  if (const auto tuned = plan_sm90(p, traits, knobs)) return *tuned;
  Broken broken;
  const auto* row = cheapest(
      p, traits, std::span(kPortableTiles),
      [&](const auto& r) { return portable_plan(p, r, num_sms); },
      [&](const auto& r) { return portable_cycles(p, r, num_sms); }, broken);
  if (row == nullptr) {
    const std::string given = broken.rule == Rule::NoKernelForDevice
                                  ? "a tensor on cuda, arch " + traits.arch
                                  : p.to_string();
    if (broken.rule == Rule::NoKernelForDevice)
      refuse(broken.rule, {op, "a", given}, {"cuda arch " + traits.arch});
    refuse(broken.rule, {op, "a", given}, {broken.limit, broken.needed});
  }
  return portable_plan(p, *row, num_sms);
}

std::vector<GemmPlan> reachable_cuda_plans(const GemmProblem& p, const DeviceTraits& traits) {
  std::vector<GemmPlan> plans;
  for (const auto& row : sm90_rows(p)) {
    const Sm90GemmPlan plan = sm90_plan(p, row.tile, 1);
    if (first_broken_rule(p, plan, traits).rule == Rule::None) plans.emplace_back(plan);
  }
  if (!plans.empty()) return plans;
  for (const auto& row : kPortableTiles) {
    const PortableGemmPlan plan = portable_plan(p, row, 1);
    if (first_broken_rule(p, plan, traits).rule == Rule::None) plans.emplace_back(plan);
  }
  return plans;
}

}  // namespace deep_gemm::plan
