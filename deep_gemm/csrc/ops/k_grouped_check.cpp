#include <deep_gemm/csrc/ops/grouped_check.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_gemm/csrc/problem/sizes.hpp>

namespace deep_gemm::ops {
namespace {

template <class... D>
void require(bool is_kept, Rule rule, std::string_view op, std::string_view name,
             const TensorFacts& facts, const D&... details) {
  if (!is_kept) [[unlikely]]
    refuse(rule, {op, name, facts.to_string()}, {Detail(details)...});
}

TensorFacts matrix(const TensorFacts& like, std::int64_t rows, std::int64_t columns) {
  TensorFacts t = like;
  t.rank = 2;
  t.sizes = {rows, columns};
  t.strides = {columns, 1};
  return t;
}

std::int64_t num_elements(const TensorFacts& t) {
  std::int64_t count = 1;
  for (int i = 0; i < t.rank; ++i) count *= t.sizes[static_cast<std::size_t>(i)];
  return count;
}

bool is_contiguous(const TensorFacts& t) {
  if (num_elements(t) == 0) return true;
  std::int64_t stride = 1;
  for (int i = t.rank - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    if (t.sizes[at] > 1 && t.strides[at] != stride) return false;
    stride *= t.sizes[at];
  }
  return true;
}

std::int64_t sum_of_sizes(const KGroupedFacts& f) {
  std::int64_t sum = 0;
  if (f.ks)
    for (const std::int64_t k : *f.ks) sum += k;
  return sum;
}

// An operand as the dense checks read it: [mn, sum of k] or its transpose.
TensorFacts flattened(const KGroupedFacts& f, std::string_view name, const TensorFacts& t,
                      std::int64_t mn) {
  if (f.storage != KStorage::Flat) return t;
  const std::int64_t count = num_elements(t);
  if (mn == 0 && count == 0) return matrix(t, 0, sum_of_sizes(f));
  require(is_contiguous(t) && mn > 0 && count % mn == 0, Rule::KGroupedFlat, f.op, name, t, mn);
  return matrix(t, mn, count / mn);
}

void check_sizes(const KGroupedFacts& f, const GroupedProblem& p) {
  const auto given = [&] {
    std::string text = "[";
    for (const std::int64_t k : *f.ks) text += (text.size() > 1 ? ", " : "") + std::to_string(k);
    return text + "]";
  };
  if (!f.ks) {
    if (!f.use_ends) refuse(Rule::KSizesGiven, {f.op, "ks_cpu", "nothing"});
    return;
  }
  if (static_cast<std::int64_t>(f.ks->size()) != p.num_groups)
    refuse(Rule::KSizesLength, {f.op, "ks_cpu", given()}, {p.num_groups});
  const std::int64_t multiple = f.storage == KStorage::Rows ? 1 : p.gemm.a_scale.gran_k;
  for (const std::int64_t k : *f.ks)
    if (k < 0 || k % multiple != 0)
      refuse(Rule::KSizesMultiple, {f.op, "ks_cpu", given()}, {multiple});
  const std::int64_t sum = sum_of_sizes(f);
  if (sum > p.gemm.k || (!f.use_ends && sum != p.gemm.k))
    refuse(Rule::KSizesSum, {f.op, "ks_cpu", given()}, {p.gemm.k, sum});
}

// How many scales lie along k: each group starts a new one (a new word, where packed).
std::int64_t scales_along_k(const KGroupedFacts& f, const GemmScale& s) {
  std::int64_t count = 0;
  for (const std::int64_t k : *f.ks) {
    const std::int64_t scales = ceil_div(k, s.gran_k);
    count += s.type == ScaleType::Ue8m0x4 ? ceil_div(scales, 4) : scales;
  }
  return count;
}

void check_scale(const KGroupedFacts& f, std::string_view name, const TensorFacts& t,
                 std::int64_t mn, GroupedProblem& p, GemmScale& scale) {
  const bool is_rows = f.storage != KStorage::Flat;  // one row of scales per part of k
  require(t.dtype == DType::Float32 || t.dtype == DType::Int32, Rule::DtypeScale, f.op, name, t);
  require(t.rank == 2, Rule::RankMatrix, f.op, name, t, name);
  const std::size_t mn_at = is_rows ? 1 : 0, k_at = is_rows ? 0 : 1;
  scale.type = t.dtype == DType::Int32 ? ScaleType::Ue8m0x4 : ScaleType::F32;
  require(t.sizes[mn_at] == mn, Rule::ScaleRows, f.op, name, t, 1,
          name.substr(0, 1) == "a" ? "m" : "n", mn, mn, is_rows ? "columns" : "rows",
          name.substr(0, 1));
  scale.stride_mn = mn <= 1 ? 0 : t.strides[mn_at];
  scale.stride_k = t.sizes[k_at] <= 1 ? 0 : t.strides[k_at];
  const std::int64_t given = t.sizes[k_at] * (scale.type == ScaleType::Ue8m0x4 ? 4 : 1);
  if (f.use_ends) {
    // Two generations of callers: a group's scales cover its k, or its k rounded up to the
    // alignment. Sizes that come with ends are rounded ones.
    const bool covers_all = f.ks ? t.sizes[k_at] >= scales_along_k(f, scale)
                                 : given >= ceil_div(p.gemm.k, scale.gran_k);
    p.scales_aligned = p.scales_aligned && covers_all;
    return;
  }
  const std::int64_t needed = scales_along_k(f, scale);
  require(t.sizes[k_at] >= needed, Rule::KScales, f.op, name, t, scale.gran_k, needed);
}

}  // namespace

KStorage k_storage_of(std::string_view op) {
  if (op.find("_gemm_tn_") != std::string_view::npos) return KStorage::Rows;
  return op.find("_fp4_") != std::string_view::npos ? KStorage::Columns : KStorage::Flat;
}

GroupedProblem check_k_grouped(const KGroupedFacts& f) {
  GroupedProblem p;
  p.grouping = f.use_ends ? Grouping::KEnds : Grouping::Sizes;
  p.is_flat = f.storage == KStorage::Flat;
  p.alignment = f.alignment;
  if (f.alignment < 1)
    refuse(Rule::GroupAlignment, {f.op, "mk_alignment", std::to_string(f.alignment)});
  require(f.d.rank == 3, Rule::RankGroups, f.op, "d", f.d, "d");
  if (f.c) require(f.c->rank == 3, Rule::RankGroups, f.op, "c", *f.c, "c");
  p.num_groups = f.d.sizes[0];
  const std::int64_t m = f.d.sizes[1], n = f.d.sizes[2];
  require(is_contiguous(f.d), Rule::GroupsContiguous, f.op, "d", f.d, "d");
  if (f.c) {
    require(f.c->sizes[0] == p.num_groups, Rule::SameGroups, f.op, "c", *f.c, p.num_groups);
    require(is_contiguous(*f.c), Rule::GroupsContiguous, f.op, "c", *f.c, "c");
  }
  p.d_group = m * n;
  const bool is_rows = f.storage == KStorage::Rows;
  GemmFacts g{.op = f.op,
              .layout = {is_rows, is_rows},
              .a = flattened(f, "a", f.a, m),
              .a_scale = {},
              .b = flattened(f, "b", f.b, n),
              .b_scale = {},
              .d = matrix(f.d, m, n),
              .c = f.c ? std::optional(matrix(*f.c, f.c->sizes[1], f.c->sizes[2])) : std::nullopt,
              .recipe = {},
              .has_alpha = f.has_alpha};
  if (f.is_scaled) {
    // Scales of the whole k, as the dense checks want them; the real ones are checked below.
    const std::int64_t gran_k = f.gran_k > 0 ? f.gran_k : f.storage == KStorage::Columns ? 32 : 128;
    const TensorFacts& a = g.a;
    const std::int64_t k = is_rows                  ? a.sizes[0]
                           : a.dtype == DType::Int8 ? a.sizes[1] * 2
                                                    : a.sizes[1];
    const std::int64_t columns = ceil_div(k, gran_k);
    g.recipe = {1, 1, gran_k, gran_k};
    g.a_scale = is_rows ? matrix(f.a_scale, columns, m) : matrix(f.a_scale, m, columns);
    g.b_scale = is_rows ? matrix(f.b_scale, columns, n) : matrix(f.b_scale, n, columns);
    g.a_scale.dtype = g.b_scale.dtype = DType::Float32;
    p.gemm = check_scaled_gemm(g);
    p.scales_aligned = f.use_ends;
    check_sizes(f, p);
    check_scale(f, "a_scale", f.a_scale, m, p, p.gemm.a_scale);
    check_scale(f, "b_scale", f.b_scale, n, p, p.gemm.b_scale);
  } else {
    p.gemm = check_bf16_gemm(g);
    check_sizes(f, p);
  }
  require(p.num_groups > 0, Rule::SomeGroups, f.op, "d", f.d);
  require(f.layout.device == f.a.device && f.layout.device_index == f.a.device_index,
          Rule::OneDevice, f.op, "grouped_layout", f.layout,
          [&] { return device_name(f.a.device, f.a.device_index); });
  require(f.layout.dtype == DType::Int32, Rule::LayoutInt32, f.op, "grouped_layout", f.layout);
  require(f.layout.rank == 1 && (f.layout.sizes[0] <= 1 || f.layout.strides[0] == 1),
          Rule::LayoutVector, f.op, "grouped_layout", f.layout);
  require(f.layout.sizes[0] == p.num_groups, Rule::LayoutLength, f.op, "grouped_layout", f.layout,
          "one size (or end) along k a group", p.num_groups);
  lower_alignments(p, 0, p.d_group * dtype_bytes(f.d.dtype));
  // Where k is contiguous, a group starts where its part of k does.
  const std::int64_t multiple = is_rows ? 1 : p.gemm.a_scale.gran_k;
  const std::int64_t start = f.use_ends ? f.alignment : multiple;
  if (start % multiple != 0)
    refuse(Rule::GroupAlignmentK, {f.op, "mk_alignment", std::to_string(f.alignment)}, {multiple});
  if (p.gemm.a.major == Major::K || p.gemm.b.major == Major::K)
    lower_alignments(p, start * dtype_bytes(f.a.dtype) / (f.a.dtype == DType::Int8 ? 2 : 1), 0);
  return p;
}

}  // namespace deep_gemm::ops
