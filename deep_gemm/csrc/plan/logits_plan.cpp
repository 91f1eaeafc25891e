#include <deep_gemm/csrc/plan/logits_plan.hpp>

#include <algorithm>

#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_gemm/csrc/problem/sizes.hpp>
#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/str.hpp>

namespace deep_gemm {
namespace {

// Queries that a block runs over its decoded keys: enough to pay for decoding, few enough that
// there are blocks for everyone.
constexpr int kHostBlockRows = 16;
constexpr int kPortableBlockRows = 8;
// Blocks an SM that share a slot of a paged schedule.
constexpr int kPortableBlocksPerSlot = 4;
constexpr int kSparseBlocksPerSm = 4;

LogitsConfig config_of(const LogitsProblem& p) {
  LogitsConfig config;
  config.type = p.type;
  config.is_paged = p.is_paged;
  config.head_dim = p.head_dim;
  config.sparse_block = p.sparse_block;
  return config;
}

HostLogitsPlan plan_host(const LogitsProblem& p, const DeviceTraits& traits, std::string_view op) {
  HostLogitsPlan plan;
  plan.config = config_of(p);
  plan.config.vector_bytes = traits.vector_bytes;
  if (traits.vector_bytes != 16 && traits.vector_bytes != 32 && traits.vector_bytes != 64)
    refuse(Rule::VectorBytes, {op, "arch", traits.arch}, {traits.vector_bytes});
  plan.config.rows = traits.num_vector_registers >= 32 ? 8 : 6;
  plan.block_rows = p.is_sparse() ? 1 : p.is_paged ? static_cast<int>(p.next_n) : kHostBlockRows;
  const std::int64_t columns = p.is_sparse() ? p.width : p.keys;
  plan.grid_x = static_cast<std::uint32_t>(ceil_div(columns, kHostLogitsKeys));
  plan.grid_y = static_cast<std::uint32_t>(ceil_div(p.rows, plan.block_rows));
  plan.num_threads = std::max(1, traits.num_threads);
  return plan;
}

PortableLogitsPlan plan_portable(const LogitsProblem& p, int num_sms) {
  PortableLogitsPlan plan;
  plan.config = config_of(p);
  // One query's heads as bf16, in rows that begin half a line apart.
  const int pitch = p.head_dim * 2 % 128 == 64 ? p.head_dim * 2 : p.head_dim * 2 + 64;
  const int padded_heads = (p.heads + 7) / 8 * 8;
  plan.smem_bytes = padded_heads * (pitch + 4);
  if (p.is_sparse()) {
    // A query's heads are widened once a block: as few blocks a query as fill the device.
    const std::int64_t tiles = ceil_div(p.width, kPortableLogitsKeys);
    const std::int64_t wanted = ceil_div(kSparseBlocksPerSm * std::int64_t{num_sms}, p.rows);
    plan.block_rows = 1;
    plan.grid_x = static_cast<std::uint32_t>(p.rows);
    plan.grid_y = static_cast<std::uint32_t>(std::min(tiles, wanted));
    return plan;
  }
  // A grid has at most 65535 blocks along y.
  plan.block_rows =
      p.is_paged
          ? static_cast<int>(p.next_n)
          : static_cast<int>(std::max<std::int64_t>(kPortableBlockRows, ceil_div(p.rows, 65535)));
  if (p.is_paged) {
    plan.grid_x = static_cast<std::uint32_t>(p.slots);
    plan.grid_y = kPortableBlocksPerSlot;
  } else {
    plan.grid_x = static_cast<std::uint32_t>(ceil_div(p.keys, kPortableLogitsKeys));
    plan.grid_y = static_cast<std::uint32_t>(ceil_div(p.rows, plan.block_rows));
  }
  return plan;
}

// Fewer logits than this go to the portable kernel: the tensor core adds FP8 products with 14 bits,
// which a sum that cancels shows, and only many logits average out.
constexpr std::int64_t kMinTunedLogits = 1 << 14;
constexpr int kMaxKvStages = 20;
constexpr int kMathWarpgroups = 3;
// Barriers, runs, bounds and the alignment of the parts, at most.
constexpr std::int64_t kSm90SmallBytes = 4096;

bool is_tuned(const LogitsProblem& p, const DeviceTraits& traits) {
  constexpr std::int64_t kMax = std::int64_t{1} << 31;
  return traits.arch.substr(0, 3) == "90a" && !p.is_sparse() && p.type == LogitsType::Fp8 &&
         p.weights_type == OutputType::F32 && (p.heads == 16 || p.heads == 32 || p.heads == 64) &&
         (p.head_dim == 32 || p.head_dim == 64 || p.head_dim == 128) && p.alignment == 16 &&
         p.rows * p.keys >= kMinTunedLogits && p.rows * p.heads < kMax && p.keys < kMax - 64 &&
         p.width < kMax - 64;
}

int stages_that_fit(const DeviceTraits& traits, std::int64_t q_bytes, int head_dim) {
  const std::int64_t stage = kScheduleKeys * (head_dim + 4) + 16;
  return static_cast<int>(std::min<std::int64_t>(
      kMaxKvStages, (traits.smem_bytes - q_bytes - kSm90SmallBytes) / stage));
}

int smem_of(std::int64_t q_bytes, int head_dim, int stages) {
  const std::int64_t bytes =
      stages * (kScheduleKeys * (head_dim + 4) + 16) + q_bytes + kSm90SmallBytes;
  return static_cast<int>(bytes);
}

Sm90LogitsPlan plan_sm90(const LogitsProblem& p, const DeviceTraits& traits, int num_sms) {
  Sm90LogitsPlan plan;
  const std::int64_t q_bytes = 2 * 128 * p.head_dim;
  plan.config.heads = p.heads;
  plan.config.head_dim = p.head_dim;
  plan.config.math_warpgroups = kMathWarpgroups;
  plan.num_threads = 128 + 128 * kMathWarpgroups;
  plan.config.kv_stages = stages_that_fit(traits, q_bytes, p.head_dim);
  plan.config.bf16_logits = p.logits_type == OutputType::Bf16;
  plan.grid = static_cast<std::uint32_t>(num_sms);
  plan.smem_bytes = smem_of(q_bytes, p.head_dim, plan.config.kv_stages);
  return plan;
}

bool is_tuned_paged(const LogitsProblem& p) {
  const bool has_parts = p.page % 64 == 0 || p.page == 16 || p.page == 32;
  return has_parts && p.next_n <= 4 && p.block_stride % 16 == 0 && p.num_blocks > 0;
}

Sm90PagedLogitsPlan plan_sm90_paged(const LogitsProblem& p, const DeviceTraits& traits,
                                    int num_sms) {
  Sm90PagedLogitsPlan plan;
  const int queries = p.next_n == 3 ? 4 : static_cast<int>(p.next_n);
  const std::int64_t q_bytes = 2 * std::int64_t{queries} * p.heads * p.head_dim;
  plan.config.heads = p.heads;
  plan.config.head_dim = p.head_dim;
  plan.config.queries = queries;
  plan.config.part_keys = static_cast<int>(std::min<std::int64_t>(p.page, 64));
  plan.config.kv_stages = stages_that_fit(traits, q_bytes, p.head_dim);
  plan.config.bf16_logits = p.logits_type == OutputType::Bf16;
  plan.grid_x = static_cast<std::uint32_t>(p.slots);
  // A schedule of half the SMs: two blocks a slot.
  plan.grid_y = static_cast<std::uint32_t>(std::max<std::int64_t>(1, num_sms / p.slots));
  plan.num_threads = queries * p.heads > 128 ? 384 : 512;
  plan.smem_bytes = smem_of(q_bytes, p.head_dim, plan.config.kv_stages);
  return plan;
}

// A schedule made for other SMs than the call has would leave some of them out. Some callers make
// half as many slots where four rows share a request.
void check_slots(const LogitsProblem& p, int num_sms, std::string_view op) {
  const bool is_half = p.next_n >= 3 && p.slots == num_sms / 2;
  if (p.slots == num_sms || is_half) return;
  refuse(Rule::LogitsSchedule,
         {op, "schedule_meta", deep_jit::str::format("int32 ({}, 2)", p.slots + 1)},
         {num_sms + 1, num_sms});
}

int num_sms_of(const DeviceTraits& traits, const Knobs& knobs) {
  return knobs.num_sms > 0 ? knobs.num_sms : traits.num_sms;
}

const char* text_of(LogitsType type) {
  constexpr const char* kTypes[] = {"e4m3", "e4m3-mx", "e2m1-mx"};
  return kTypes[static_cast<int>(type)];
}

std::string describe(const LogitsConfig& c) {
  const std::string text = deep_jit::str::format("{} d{} {}", text_of(c.type), c.head_dim,
                                                 c.is_paged ? "paged" : "contiguous");
  return c.sparse_block == 0 ? text : deep_jit::str::format("{} sparse {}", text, c.sparse_block);
}

struct Line {
  std::string operator()(const HostLogitsPlan& p) const {
    return deep_jit::str::format(
        "host {} tile {}x{} vector {} rows {} grid {}x{} threads {}", describe(p.config),
        p.config.rows, p.config.vectors * p.config.vector_bytes / 4, p.config.vector_bytes,
        p.block_rows, p.grid_x, p.grid_y, p.num_threads);
  }
  std::string operator()(const PortableLogitsPlan& p) const {
    return deep_jit::str::format("portable {} rows {} grid {}x{} smem {}", describe(p.config),
                                 p.block_rows, p.grid_x, p.grid_y, p.smem_bytes);
  }
  std::string operator()(const Sm90LogitsPlan& p) const {
    return deep_jit::str::format(
        "sm90 e4m3 h{} d{} contiguous {} warpgroups {} stages {} grid {} smem {}", p.config.heads,
        p.config.head_dim, p.config.bf16_logits ? "bf16" : "f32", p.config.math_warpgroups,
        p.config.kv_stages, p.grid, p.smem_bytes);
  }
  std::string operator()(const Sm90PagedLogitsPlan& p) const {
    return deep_jit::str::format(
        "sm90 e4m3 h{} d{} paged {} queries {} part {} stages {} grid {}x{} threads {} smem {}",
        p.config.heads, p.config.head_dim, p.config.bf16_logits ? "bf16" : "f32", p.config.queries,
        p.config.part_keys, p.config.kv_stages, p.grid_x, p.grid_y, p.num_threads, p.smem_bytes);
  }
};

}  // namespace

LogitsPlan plan_logits(const LogitsProblem& p, const DeviceTraits& traits, const Knobs& knobs,
                       std::string_view op) {
  DJ_HOST_ASSERT(p.rows > 0 && p.keys > 0, "{}", p.to_string());
  if (!traits.is_cuda()) return plan_host(p, traits, op);
  if (traits.compute < 80)
    refuse(Rule::NoKernelForDevice, {op, "q", "a tensor on cuda, arch " + traits.arch},
           {"cuda arch " + traits.arch});
  const int num_sms = num_sms_of(traits, knobs);
  if (p.is_paged && !p.is_sparse()) check_slots(p, num_sms, op);
  if (is_tuned(p, traits)) {
    if (!p.is_paged) return plan_sm90(p, traits, num_sms);
    if (is_tuned_paged(p)) return plan_sm90_paged(p, traits, num_sms);
  }
  return plan_portable(p, num_sms);
}

std::vector<LogitsPlan> reachable_logits_plans(const LogitsProblem& problem,
                                               const DeviceTraits& traits, const Knobs& knobs,
                                               std::string_view op) {
  LogitsProblem few = problem;
  few.weights_type = OutputType::F32;
  few.rows = few.next_n;
  few.keys = few.width = 1;
  few.num_blocks = 1;
  few.slots = num_sms_of(traits, knobs);
  LogitsProblem many = few;
  many.keys = many.width = kMinTunedLogits;
  return {plan_logits(few, traits, knobs, op), plan_logits(many, traits, knobs, op)};
}

std::string to_line(const LogitsPlan& plan) { return std::visit(Line{}, plan); }

}  // namespace deep_gemm
