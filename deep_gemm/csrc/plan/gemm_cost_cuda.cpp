#include <deep_gemm/csrc/plan/gemm_cost_cuda.hpp>

#include <algorithm>

#include <deep_gemm/csrc/problem/sizes.hpp>

namespace deep_gemm::plan {
namespace {

// Rounded figures of an Ampere-class SM.
constexpr double kFmaPerCycle = 1024 * 0.7;
constexpr double kFragmentCyclesPerLine = 0.5;  // 64 elements of 16 bits, half of it hidden
constexpr double kWidenCyclesPerLine = 1.25;    // 64 elements of a one-byte operand
constexpr double kLoadCycles = 900;             // from the request of a tile to its use
constexpr double kPortableTileCycles = 1500;    // to start a tile, and to store it

// Rounded figures of an H200.
constexpr double kDramBytesPerCycle = 2450;
constexpr double kSm90SlotBytesPerCycle = 60;  // into an SM
constexpr double kSm90TileCycles = 1800;
constexpr double kSm90FloatStoreBytesPerCycle = 28;  // of an SM, beyond what a bf16 tile costs
constexpr double kSm90LaunchCycles = 2500;

double element_bytes(ElementType type) {
  return type == ElementType::Bf16 ? 2 : type == ElementType::E4m3 ? 1 : 0.5;
}

}  // namespace

double portable_cycles(const GemmProblem& p, const PortableTileRow& row, int num_sms) {
  const std::int64_t tiles = ceil_div(p.m, row.block_m) * ceil_div(p.n, row.block_n);
  const int most = p.is_scaled() ? row.scaled_blocks_per_sm : row.blocks_per_sm;
  const std::int64_t blocks =
      std::clamp<std::int64_t>(ceil_div(tiles, num_sms), 1, std::max(1, most));
  const auto waves = static_cast<double>(ceil_div(tiles, num_sms * blocks));
  const auto steps = static_cast<double>(ceil_div(p.k, kPortableBlockK));
  const double multiply = row.block_m * row.block_n * kPortableBlockK / kFmaPerCycle;
  const int fragment_rows = row.block_m * row.warps_n + row.block_n * row.warps_m;
  const double fragments = fragment_rows * kFragmentCyclesPerLine;
  const double widen = p.is_scaled() ? (row.block_m + row.block_n) * kWidenCyclesPerLine : 0;
  // Work that hides behind loads still counts a little: the smaller tile wins a tie.
  const double work = static_cast<double>(blocks) * (multiply + fragments + widen);
  const double step = std::max(work, kLoadCycles) + 0.1 * work;
  return waves * (steps * step + static_cast<double>(blocks) * kPortableTileCycles);
}

double sm90_cycles(const GemmProblem& p, const Sm90TileRow& row, int num_sms) {
  const TileConfig& c = row.tile;
  const int span_m = c.block_m * (c.share == Share::B ? c.cluster : 1);
  const int span_n = c.block_n * (c.share == Share::A ? c.cluster : 1);
  const std::int64_t tiles = ceil_div(p.m, span_m) * ceil_div(p.n, span_n);
  const auto waves = static_cast<double>(ceil_div(tiles, std::max(1, num_sms / c.cluster)));
  const int step_k = c.block_k / (p.a.type == ElementType::Bf16 ? 2 : 1);
  const auto steps = static_cast<double>(ceil_div(p.k, step_k));
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n);
  const double d_bytes =
      (p.d_type == OutputType::F32 ? 4 : 2) * (p.accumulate == Accumulate::None ? 1 : 2);
  const double bytes =
      (m * element_bytes(p.a.type) + n * element_bytes(p.b.type)) * static_cast<double>(p.k) +
      m * n * d_bytes;
  const double floats = p.d_type == OutputType::F32 ? c.block_m * c.block_n * d_bytes : 0;
  const double tile = kSm90TileCycles + floats / kSm90FloatStoreBytesPerCycle;
  const double slot_bytes = static_cast<double>(std::min<std::int64_t>(p.m, c.block_m) /
                                                    (c.share == Share::A ? c.cluster : 1) +
                                                c.block_n / (c.share == Share::B ? c.cluster : 1)) *
                            c.block_k;
  const double step = std::max<double>(row.step_cycles, slot_bytes / kSm90SlotBytesPerCycle);
  const double work = waves * (steps * step + tile);
  // Work that hides behind loads still counts a little: the smaller tile wins a tie.
  return kSm90LaunchCycles + std::max(work, bytes / kDramBytesPerCycle) + 0.1 * work;
}

}  // namespace deep_gemm::plan
