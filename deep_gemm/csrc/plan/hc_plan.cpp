#include <deep_gemm/csrc/plan/hc_plan.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>

#include <deep_gemm/csrc/plan/hc_tiles.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_gemm/csrc/problem/sizes.hpp>
#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/str.hpp>

namespace deep_gemm {
namespace {

int columns_of(std::int64_t n) {
  return static_cast<int>(std::min<std::int64_t>(round_up(n, 8), 32));
}

// ---- Host ----

HostHcPlan plan_host(const HcProblem& p, const DeviceTraits& traits) {
  constexpr std::int64_t kRows = 4, kPanelK = 256;  // of host/hc.hpp
  HostHcPlan plan;
  plan.columns = columns_of(p.n);
  plan.num_threads = std::max(1, traits.num_threads);
  // Why two blocks a thread: they take turns, and B's panels are packed once a block.
  const std::int64_t wanted = ceil_div(p.m * p.splits, 2 * std::int64_t{plan.num_threads});
  plan.block_m = std::clamp<std::int64_t>(round_up(wanted, kRows), kRows, 256);
  plan.grid_m = static_cast<std::uint32_t>(ceil_div(p.m, plan.block_m));
  plan.workspace_bytes = round_up(
      4 * (plan.columns * kPanelK + kRows * kPanelK + plan.block_m * (plan.columns + 8)), 64);
  return plan;
}

// ---- Portable ----

bool is_whole(const HcProblem& p) {
  return p.alignment >= 16 && p.k % 32 == 0 && p.a_stride % 8 == 0 && p.b_stride % 4 == 0 &&
         p.a_stride < (std::int64_t{1} << 26);
}

PortableHcPlan portable_plan(const plan::HcFlatRow& row, const HcProblem& p) {
  PortableHcPlan plan;
  plan.config = {.columns = columns_of(p.n),
                 .row_tiles = row.row_tiles,
                 .warps_m = row.warps_m,
                 .warps_k = row.warps_k,
                 .depth = row.depth,
                 .chunk_k = row.chunk_k,
                 .is_whole = row.is_whole};
  const std::int64_t rows = 16 * row.row_tiles * row.warps_m;
  plan.grid_x = static_cast<std::uint32_t>(ceil_div(p.m, rows) * p.splits);
  plan.grid_y = static_cast<std::uint32_t>(ceil_div(p.n, plan.config.columns));
  plan.threads = 32 * row.warps_m * row.warps_k;
  const std::int64_t terms = std::int64_t{row.chunk_k} * plan.config.columns * 4;
  const std::int64_t sums =
      row.warps_k == 1 ? 0 : row.warps_k * rows * (plan.config.columns + 1) * 4;
  plan.smem_bytes = static_cast<int>(std::max(terms, sums));
  return plan;
}

// Of every row that may run it, rows of a block ascending.
std::vector<PortableHcPlan> legal_portable_plans(const HcProblem& p, const DeviceTraits& traits) {
  std::vector<PortableHcPlan> plans;
  for (const plan::HcFlatRow& row : plan::kHcFlatRows) {
    if (row.is_whole != is_whole(p)) continue;
    const PortableHcPlan plan = portable_plan(row, p);
    if (plan.smem_bytes <= traits.smem_bytes) plans.push_back(plan);
  }
  return plans;
}

PortableHcPlan plan_portable(const HcProblem& p, const DeviceTraits& traits, int num_sms) {
  std::optional<PortableHcPlan> best;
  for (const PortableHcPlan& plan : legal_portable_plans(p, traits)) {
    const std::int64_t blocks = std::int64_t{plan.grid_x} * plan.grid_y;
    if (!best || blocks * 10 >= std::int64_t{num_sms} * 9) best = plan;
  }
  if (!best)
    refuse(Rule::NoKernelForDevice, {"tf32_hc_prenorm_gemm", "a", traits.arch}, {traits.arch});
  return *best;
}

// ---- Hopper ----

// May the copy engine read these operands, and the product be made of whole groups of columns?
bool fits_sm90(const HcProblem& p) {
  return p.n % 8 == 0 && p.n <= 32 && p.alignment >= 16 && p.a_stride % 8 == 0 &&
         p.b_stride % 4 == 0 && p.a_stride >= p.k && p.b_stride >= p.k;
}

// The sum of what HcSmem of sm90/tf32_hc_prenorm_gemm.cuh holds; the kernel text asserts it.
int sm90_smem_bytes(const HcConfig& c) {
  const int rows = 64 * c.math_warpgroups, out_rows = c.cluster == 1 ? 1 : rows;
  const int bytes = c.a_stages * rows * 128 + c.b_slots * c.n * 256 +
                    c.converters * c.raw_depth * (c.b_at_once ? 16 : c.n * 256) +
                    2 * out_rows * (c.n + 1) * 4 + 16 * c.a_stages + 16 * c.b_slots +
                    8 * c.converters * c.raw_depth + 8;
  return (bytes + 1023) / 1024 * 1024;
}

int cluster_of(std::int64_t units, std::int64_t k_blocks, std::int64_t splits) {
  for (const plan::HcClusterRow& row : plan::kHcClusters) {
    if (splits >= plan::kHcManySplits && row.cluster > plan::kHcManySplitsCluster) continue;
    if (units * row.cluster <= row.max_blocks && row.cluster <= k_blocks) return row.cluster;
  }
  return 1;
}

// What the kernel is compiled for, and what follows from that alone.
Sm90HcPlan sm90_kernel(const HcProblem& p, const DeviceTraits& traits, int math_warpgroups,
                       int cluster, bool b_at_once) {
  Sm90HcPlan plan;
  plan.config.n = static_cast<int>(p.n);
  plan.config.math_warpgroups = math_warpgroups;
  plan.config.cluster = cluster;
  plan.config.b_slots = plan::kHcBSlots;
  plan.config.b_at_once = b_at_once;
  plan.config.a_stages = math_warpgroups == 1 ? plan::kHcStages64 : plan::kHcStages128;
  while (sm90_smem_bytes(plan.config) > traits.smem_bytes && plan.config.a_stages > 2)
    --plan.config.a_stages;
  plan.smem_bytes = sm90_smem_bytes(plan.config);
  plan.threads = 128 * math_warpgroups + 32 * (plan.config.converters + 1);
  return plan;
}

Sm90HcPlan plan_sm90(const HcProblem& p, const DeviceTraits& traits, int num_sms) {
  const std::int64_t k_blocks = std::max<std::int64_t>(1, ceil_div(p.k, 64) / p.splits);
  const std::int64_t units64 = ceil_div(p.m, 64) * p.splits;
  const std::int64_t units128 = ceil_div(p.m, 128) * p.splits;
  int cluster = cluster_of(units64, k_blocks, p.splits), math_warpgroups = 1;
  if (cluster == 1 && units128 * 2 <= num_sms && k_blocks >= 2) {
    math_warpgroups = cluster = 2;
  } else if (cluster == 1 && (k_blocks > plan::kHcBSlots || p.m > plan::kHcWideRows)) {
    math_warpgroups = 2;
  }
  // A share of K that fits the B slots is split by all threads before the block meets.
  const bool b_at_once =
      p.k % 64 == 0 && ceil_div(ceil_div(p.k / 64, p.splits), cluster) <= plan::kHcBSlots;
  Sm90HcPlan plan = sm90_kernel(p, traits, math_warpgroups, cluster, b_at_once);
  plan.tiles = static_cast<int>(ceil_div(p.m, 64 * plan.config.math_warpgroups));
  // Why one tile a cluster: handing sums over costs more than a new block.
  const std::int64_t fitting = std::max<std::int64_t>(1, num_sms / p.splits);
  plan.lanes = plan.config.cluster > 1
                   ? plan.tiles
                   : static_cast<int>(std::min<std::int64_t>(plan.tiles, fitting));
  plan.grid = static_cast<std::uint32_t>(std::int64_t{plan.lanes} * p.splits * plan.config.cluster);
  return plan;
}

// A plan of every kernel that plan_sm90 picks for some rows and splits: asked, not listed, at the
// rows where its answer may change.
std::vector<Sm90HcPlan> reachable_sm90_plans(HcProblem p, const DeviceTraits& traits, int num_sms) {
  constexpr std::int64_t kMostSplits = 512;
  std::vector<Sm90HcPlan> plans;
  std::set<std::array<int, 6>> seen;
  const auto ask = [&](std::int64_t tiles) {
    for (const std::int64_t more : {0, 1, 2}) {
      p.m = 64 * std::max<std::int64_t>(1, tiles + more);
      Sm90HcPlan plan = plan_sm90(p, traits, num_sms);
      const HcConfig& c = plan.config;
      if (seen.insert(
                  {c.math_warpgroups, c.a_stages, c.b_slots, c.converters, c.cluster, c.b_at_once})
              .second)
        plans.push_back(plan);
    }
  };
  const std::int64_t most = std::min(ceil_div(p.k, 64) + 1, kMostSplits);
  for (p.splits = 1; p.splits <= most; ++p.splits) {
    ask(plan::kHcWideRows / 64);
    ask(num_sms / p.splits);
    for (const plan::HcClusterRow& row : plan::kHcClusters)
      ask(row.max_blocks / (row.cluster * p.splits));
  }
  return plans;
}

// ---- Either ----

int usable_sms(const DeviceTraits& traits, const Knobs& knobs) {
  return knobs.num_sms > 0 ? std::min(knobs.num_sms, traits.num_sms) : traits.num_sms;
}

bool is_tuned(const HcProblem& p, const DeviceTraits& traits, int num_sms) {
  return traits.arch == "90a" && fits_sm90(p) && num_sms == traits.num_sms;
}

void require_cuda(const DeviceTraits& traits) {
  if (traits.compute < 80)
    refuse(Rule::NoKernelForDevice,
           {"tf32_hc_prenorm_gemm", "a", "a tensor on cuda, arch " + traits.arch},
           {"cuda arch " + traits.arch});
}

}  // namespace

HcPlan plan_hc(const HcProblem& p, const DeviceTraits& traits, const Knobs& knobs) {
  DJ_HOST_ASSERT(p.m > 0 && p.n > 0 && p.k > 0, "{}", p.to_string());
  if (!traits.is_cuda()) return plan_host(p, traits);
  require_cuda(traits);
  const int num_sms = usable_sms(traits, knobs);
  if (is_tuned(p, traits, num_sms)) return plan_sm90(p, traits, num_sms);
  return plan_portable(p, traits, num_sms);
}

std::vector<HcPlan> reachable_hc_plans(const HcProblem& p, const DeviceTraits& traits,
                                       const Knobs& knobs) {
  if (!traits.is_cuda()) return {plan_host(p, traits)};
  require_cuda(traits);
  std::vector<HcPlan> plans;
  if (is_tuned(p, traits, usable_sms(traits, knobs))) {
    for (const Sm90HcPlan& plan : reachable_sm90_plans(p, traits, usable_sms(traits, knobs)))
      plans.emplace_back(plan);
  } else {
    for (const PortableHcPlan& plan : legal_portable_plans(p, traits)) plans.emplace_back(plan);
  }
  return plans;
}

std::string to_line(const HcPlan& plan) {
  namespace str = deep_jit::str;
  if (const auto* h = std::get_if<HostHcPlan>(&plan))
    return str::format("host columns {} block {} grid {} threads {} workspace {}", h->columns,
                       h->block_m, h->grid_m, h->num_threads, h->workspace_bytes);
  if (const auto* p = std::get_if<PortableHcPlan>(&plan)) {
    const HcFlatConfig& c = p->config;
    return str::format(
        "portable columns {} rows {}x{}x16 warps_k {} depth {} chunk {}{} grid {}x{} smem {}",
        c.columns, c.warps_m, c.row_tiles, c.warps_k, c.depth, c.chunk_k,
        c.is_whole ? "" : " guarded", p->grid_x, p->grid_y, p->smem_bytes);
  }
  const auto& s = std::get<Sm90HcPlan>(plan);
  return str::format(
      "sm90 n {} rows {} stages {} b_slots {} cluster {} tiles {} lanes {} grid {} smem {}",
      s.config.n, 64 * s.config.math_warpgroups, s.config.a_stages, s.config.b_slots,
      s.config.cluster, s.tiles, s.lanes, s.grid, s.smem_bytes);
}

}  // namespace deep_gemm
