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

bool is_tma_operand(const GemmOperand& x, std::int64_t mn, std::int64_t k) {
  const std::int64_t bytes = x.type == ElementType::Bf16 ? 2 : 1;
  return x.major == Major::K ? is_tma_row(mn, x.stride_bytes, k * bytes)
                             : is_tma_row(k, x.stride_bytes, mn * bytes);
}

// Where c is read, its rows are as far apart as those of d.
bool is_readable_c(const GemmProblem& p) {
  return p.accumulate != Accumulate::FromC || p.c_stride == p.d_stride;
}

// What a tile says of operands and outputs is what the problem has.
bool describes(const TileConfig& t, const GemmProblem& p) {
  const TileConfig want = sm90_tile(p, t);
  return p.b.type == t.type && t.type == want.type && t.a_major == want.a_major &&
         t.b_major == want.b_major && t.b_scale_rows == want.b_scale_rows &&
         t.d_type == want.d_type && t.add_to == want.add_to;
}

bool takes_operands(const GemmProblem& p, const TileConfig& t) {
  if (p.has_alpha || !describes(t, p)) return false;
  if (t.type == ElementType::Bf16) return t.add_to != AddTo::C || is_readable_c(p);
  const auto scale = [](const GemmScale& s, std::int64_t gran_mn) {
    return s.type == ScaleType::F32 && s.gran_mn == gran_mn && s.gran_k == 128;
  };
  // Why not c: its loads would stand between products, and their registers beside two of them.
  return t.type == ElementType::E4m3 && p.a.major == Major::K && p.b.major == Major::K &&
         scale(p.a_scale, 1) && scale(p.b_scale, t.b_scale_rows) && t.add_to != AddTo::C;
}

Broken first_sm90_operand_rule(const GemmProblem& p, const TileConfig& t) {
  if (!takes_operands(p, t)) return {Rule::Sm90Operands, 0, 0};
  const std::int64_t d_bytes = p.d_type == OutputType::F32 ? 4 : 2;
  if (p.alignment < 16 || p.d_alignment < 16 || !is_tma_operand(p.a, p.m, p.k) ||
      !is_tma_operand(p.b, p.n, p.k) || !is_tma_row(p.m, p.d_stride * d_bytes, p.n * d_bytes))
    return {Rule::TmaAlignment, 16, std::min(p.alignment, p.d_alignment)};
  // Why: the copy engine stores the 16 bytes in which a row ends whole, with what lies beside d.
  if (p.n * d_bytes % 16 != 0) return {Rule::TmaAlignment, 16, p.n * d_bytes};
  return {};
}

// Tiles narrower than a store box are stored row by row.
constexpr int kStoreColumns = 64;

// Columns of a tile come in these.
int column_unit(const TileConfig& t) {
  constexpr int kInstruction = 16, kFloatStore = 32, kChunk = 64;
  if (t.b_major == Major::Mn) return kChunk;
  if (t.block_n < kStoreColumns) return kInstruction;
  return t.d_type == OutputType::F32 ? kFloatStore : kInstruction;
}

// Rows are stored by themselves where they are dense and not added to.
int fewest_columns(const TileConfig& t) {
  constexpr int kFp8Columns = 32;
  if (t.groups != Groups::Dense || t.add_to == AddTo::D) return kStoreColumns;
  return t.type == ElementType::Bf16 ? column_unit(t) : kFp8Columns;
}

// Rows of b that each block of a cluster brings come in these.
int shared_row_unit(const TileConfig& t) { return t.b_major == Major::Mn ? 64 : 8; }

Broken first_sm90_tile_rule(const TileConfig& t) {
  constexpr int kRows = 64, kSums = 200;
  const bool is_bf16 = t.type == ElementType::Bf16;
  const int columns = column_unit(t);
  if (t.block_m != kRows * t.math_warpgroups) return {Rule::TileAtom, kRows, t.block_m};
  if (t.block_n % columns != 0 || t.block_n > 256 || t.block_n < fewest_columns(t))
    return {Rule::TileAtom, columns, t.block_n};
  if (t.share == Share::B && t.block_n % (shared_row_unit(t) * t.cluster) != 0)
    return {Rule::TileAtom, shared_row_unit(t) * t.cluster, t.block_n};
  const std::int64_t part = is_bf16 ? 0 : t.block_n / t.n_parts / 2;  // registers of a product
  const std::int64_t sums = t.block_n / 2;
  if (sums + t.products * part > kSums) return {Rule::Registers, kSums, sums + t.products * part};
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
  if (!traits.is_cuda() || traits.arch != "90a") return {Rule::NoKernelForDevice, 0, 0};
  if (const Broken size = first_size_rule(p); size.rule != Rule::None) return size;
  if (const Broken operand = first_sm90_operand_rule(p, t); operand.rule != Rule::None)
    return operand;
  if (const Broken tile = first_sm90_tile_rule(t); tile.rule != Rule::None) return tile;
  const std::int64_t bytes = sm90_smem_bytes(t);
  if (bytes > traits.smem_bytes) return {Rule::SmemBytes, traits.smem_bytes, bytes};
  return {};
}

}  // namespace deep_gemm::plan
