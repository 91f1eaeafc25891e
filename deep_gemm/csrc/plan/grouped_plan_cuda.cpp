#include <deep_gemm/csrc/plan/grouped_plan_cuda.hpp>

#include <algorithm>
#include <span>

#include <deep_gemm/csrc/plan/gemm_cost_cuda.hpp>
#include <deep_gemm/csrc/plan/grouped_tiles_sm90.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_gemm/csrc/problem/sizes.hpp>

namespace deep_gemm::plan {
namespace {

constexpr std::int64_t kMaxRows = (std::int64_t{1} << 31) - 1;

// The most tiles that any layout can give.
std::int64_t most_tiles(const GroupedProblem& p, int block_m, int block_n) {
  const std::int64_t columns = ceil_div(p.gemm.n, block_n), rows = ceil_div(p.gemm.m, block_m);
  switch (p.grouping) {
    case Grouping::Labels:
      return rows * columns;
    case Grouping::Ends:
      return (rows + p.num_groups - 1) * columns;  // each group may end in a tile of its own
    default:
      return p.num_groups * rows * columns;
  }
}

// All groups as one dense problem with as many tiles: what the dense costs can rank. Groups that
// lie one after the other start at a tile, so that all rows are all tiles.
GemmProblem as_dense(const GroupedProblem& p, int block_m) {
  const bool is_contiguous = p.grouping == Grouping::Labels || p.grouping == Grouping::Ends;
  GemmProblem dense = is_contiguous ? p.gemm : average_group(p);
  dense.m = (is_contiguous ? 1 : p.num_groups) * ceil_div(dense.m, block_m) * block_m;
  return dense;
}

std::uint32_t grid_of(std::int64_t tiles, std::int64_t most_blocks) {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(tiles, 1, std::max<std::int64_t>(most_blocks, 1)));
}

Groups groups_of(Grouping grouping) {
  constexpr Groups kGroups[] = {Groups::ContiguousIndex, Groups::ContiguousEnds, Groups::Masked,
                                Groups::KGrouped, Groups::KGrouped};
  return kGroups[static_cast<int>(grouping)];
}

std::span<const Sm90TileRow> sm90_rows(const GroupedProblem& p) {
  if (p.gemm.is_scaled()) return kSm90GroupedTiles;
  return kSm90Bf16GroupedTiles;
}

Sm90GroupedPlan sm90_plan(const GroupedProblem& p, const TileConfig& row, int num_sms) {
  const TileConfig tile = sm90_tile(p.gemm, row);
  Sm90GemmPlan plan;
  plan.tile = tile;
  plan.tile.groups = groups_of(p.grouping);
  plan.num_threads = sm90_threads(tile);
  plan.smem_bytes = static_cast<int>(sm90_smem_bytes(tile));
  plan.band = std::max(1, kSm90BandRows / tile.block_m);
  plan.grid = grid_of(most_tiles(p, tile.block_m, tile.block_n), num_sms);
  return {plan};
}

PortableGroupedPlan portable_plan(const GroupedProblem& p, const PortableTileRow& row,
                                  int num_sms) {
  PortableGemmPlan plan;
  plan.config = portable_config(p.gemm, row);
  plan.config.blocks_per_sm = 1;  // schedulers of groups hold registers too
  plan.num_threads = portable_threads(plan.config);
  plan.smem_bytes = static_cast<int>(portable_smem_bytes(plan.config));
  plan.band = kPortableBand;
  const int blocks = std::max(1, p.gemm.is_scaled() ? row.scaled_blocks_per_sm : row.blocks_per_sm);
  plan.grid = grid_of(most_tiles(p, row.block_m, row.block_n), std::int64_t{num_sms} * blocks);
  return {plan, p.grouping, p.is_flat};
}

}  // namespace

Broken first_broken_rule(const GroupedProblem& p, const Sm90GroupedPlan& plan,
                         const DeviceTraits& traits) {
  // Why bf16 outputs of E4M3: float32 rows stored by themselves spill beside two products.
  const TileConfig& tile = plan.gemm.tile;
  const bool is_new_fp8 = tile.type == ElementType::E4m3 &&
                          (tile.b_scale_rows != 128 || tile.d_type != OutputType::Bf16);
  // Along k the end of a group is cut in shared memory, where lines of k lie apart.
  const bool has_lines = !p.is_flat && tile.type == ElementType::Bf16 &&
                         p.gemm.a.major == Major::Mn && p.gemm.b.major == Major::Mn;
  if (is_new_fp8 || (p.is_along_k() && !has_lines)) return {Rule::Sm90Operands, 0, 0};
  if (const Broken dense = first_broken_rule(p.gemm, plan.gemm, traits); dense.rule != Rule::None)
    return dense;
  // Groups of an E4M3 b, and of a where they are apart, lie one after the other as rows of one
  // matrix; groups of a bf16 b are a dimension of its map.
  const bool is_bf16 = p.gemm.b.type == ElementType::Bf16;
  const bool is_tight =
      p.num_groups == 1 ||
      (is_bf16 ? p.b_group % 16 == 0 : p.b_group == p.gemm.n * p.gemm.b.stride_bytes);
  const bool is_masked = p.grouping == Grouping::Counts;
  const std::int64_t d_bytes = p.gemm.d_type == OutputType::F32 ? 4 : 2;
  const bool is_a_tight =
      !is_masked || p.num_groups == 1 || p.a_group == p.gemm.m * p.gemm.a.stride_bytes;
  if (!is_tight || !is_a_tight || ((is_masked || p.is_along_k()) && p.d_group * d_bytes % 16 != 0))
    return {Rule::TmaAlignment, 16, 0};
  // Why: coordinates of a map, and rows as the kernel counts them, are 32-bit numbers.
  const std::int64_t rows = p.num_groups * std::max(p.gemm.n, is_masked ? p.gemm.m : 0);
  if (rows > kMaxRows) return {Rule::SizeLimit, kMaxRows, rows};
  if (p.grouping == Grouping::Ends && p.alignment % plan.gemm.tile.block_m != 0)
    return {Rule::TileAtom, plan.gemm.tile.block_m, p.alignment};
  return {};
}

std::optional<Sm90GroupedPlan> plan_sm90_grouped(const GroupedProblem& p,
                                                 const DeviceTraits& traits, const Knobs& knobs) {
  const int num_sms = usable_sms(traits, knobs);
  std::optional<Sm90GroupedPlan> best;
  double best_cycles = 0;
  for (const auto& row : sm90_rows(p)) {
    const auto plan = sm90_plan(p, row.tile, num_sms);
    if (first_broken_rule(p, plan, traits).rule != Rule::None) continue;
    const double cycles = sm90_cycles(as_dense(p, row.tile.block_m), row, num_sms);
    if (best && cycles >= best_cycles) continue;  // ties: the earlier row
    best = plan;
    best_cycles = cycles;
  }
  return best;
}

GroupedPlan plan_cuda_grouped(const GroupedProblem& p, const DeviceTraits& traits,
                              const Knobs& knobs, std::string_view op) {
  if (const auto tuned = plan_sm90_grouped(p, traits, knobs)) return *tuned;
  const int num_sms = usable_sms(traits, knobs);
  std::optional<GroupedPlan> best;
  double best_cycles = 0;
  Broken broken;
  for (const auto& row : kPortableTiles) {
    const auto plan = portable_plan(p, row, num_sms);
    const Broken why = first_broken_rule(p.gemm, plan.gemm, traits);
    const double cycles = portable_cycles(as_dense(p, row.block_m), row, num_sms);
    if (why.rule != Rule::None) {
      broken = why;
    } else if (!best || cycles < best_cycles) {  // ties: the earlier row
      best = plan;
      best_cycles = cycles;
    }
  }
  if (best) return *best;
  if (broken.rule == Rule::NoKernelForDevice)
    refuse(broken.rule, {op, "a", "a tensor on cuda, arch " + traits.arch},
           {"cuda arch " + traits.arch});
  refuse(broken.rule, {op, "a", p.to_string()}, {broken.limit, broken.needed});
}

std::vector<GroupedPlan> reachable_cuda_grouped_plans(const GroupedProblem& p,
                                                      const DeviceTraits& traits) {
  std::vector<GroupedPlan> plans;
  for (const auto& row : sm90_rows(p)) {
    const auto plan = sm90_plan(p, row.tile, 1);
    if (first_broken_rule(p, plan, traits).rule == Rule::None) plans.emplace_back(plan);
  }
  if (!plans.empty()) return plans;
  for (const auto& row : kPortableTiles) {
    const auto plan = portable_plan(p, row, 1);
    if (first_broken_rule(p.gemm, plan.gemm, traits).rule == Rule::None) plans.emplace_back(plan);
  }
  return plans;
}

}  // namespace deep_gemm::plan
