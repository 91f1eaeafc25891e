#include <deep_gemm/csrc/ops/grouped_check.hpp>

#include <deep_gemm/csrc/plan/rules.hpp>

namespace deep_gemm::ops {
namespace {

template <class... D>
void require(bool is_kept, Rule rule, std::string_view op, std::string_view name,
             const TensorFacts& facts, const D&... details) {
  if (!is_kept) [[unlikely]]
    refuse(rule, {op, name, facts.to_string()}, {Detail(details)...});
}

// One group of a tensor with a dimension of groups in front, and what lies between groups.
TensorFacts one_group(const TensorFacts& t, std::int64_t& group_stride) {
  TensorFacts slice = t;
  slice.rank = 2;
  slice.sizes = {t.sizes[1], t.sizes[2]};
  slice.strides = {t.strides[1], t.strides[2]};
  group_stride = t.sizes[0] <= 1 ? 0 : t.strides[0];
  return slice;
}

void check_layout(const MGroupedFacts& f, std::int64_t expected, std::string_view what) {
  require(f.layout.device == f.a.device && f.layout.device_index == f.a.device_index,
          Rule::OneDevice, f.op, f.grouping == Grouping::Counts ? "masked_m" : "grouped_layout",
          f.layout, [&] { return device_name(f.a.device, f.a.device_index); });
  const std::string_view name = f.grouping == Grouping::Counts ? "masked_m" : "grouped_layout";
  require(f.layout.dtype == DType::Int32, Rule::LayoutInt32, f.op, name, f.layout);
  require(f.layout.rank == 1 && (f.layout.sizes[0] <= 1 || f.layout.strides[0] == 1),
          Rule::LayoutVector, f.op, name, f.layout);
  require(f.layout.sizes[0] == expected, Rule::LayoutLength, f.op, name, f.layout, what, expected);
}

void check_alignment(std::string_view op, std::int64_t alignment) {
  if (alignment < 1) refuse(Rule::GroupAlignment, {op, "mk_alignment", std::to_string(alignment)});
}

}  // namespace

void lower_alignments(GroupedProblem& p, std::int64_t operand_bytes, std::int64_t output_bytes) {
  while (operand_bytes % p.gemm.alignment != 0) p.gemm.alignment /= 2;
  while (output_bytes % p.gemm.d_alignment != 0) p.gemm.d_alignment /= 2;
}

GroupedProblem check_m_grouped(const MGroupedFacts& f) {
  const bool is_masked = f.grouping == Grouping::Counts;
  GroupedProblem p;
  p.grouping = f.grouping;
  p.alignment = f.alignment;
  p.zero_padding = f.zero_padding;
  check_alignment(f.op, f.alignment);
  GemmFacts g{.op = f.op,
              .layout = {false, f.b_is_transposed},
              .a = f.a,
              .a_scale = f.a_scale,
              .b = f.b,
              .b_scale = f.b_scale,
              .d = f.d,
              .c = std::nullopt,
              .recipe = f.recipe,
              .has_alpha = f.has_alpha};
  struct Stacked {
    std::string_view name;
    TensorFacts* facts;
    std::int64_t* stride;
    bool is_stacked;
  };
  const Stacked tensors[] = {{"b", &g.b, &p.b_group, true},
                             {"a", &g.a, &p.a_group, is_masked},
                             {"d", &g.d, &p.d_group, is_masked},
                             {"a_scale", &g.a_scale, &p.a_scale_group, f.is_scaled && is_masked},
                             {"b_scale", &g.b_scale, &p.b_scale_group, f.is_scaled}};
  require(f.b.rank == 3, Rule::RankGroups, f.op, "b", f.b, "b");
  p.num_groups = f.b.sizes[0];
  for (const Stacked& t : tensors) {
    if (!t.is_stacked) continue;
    require(t.facts->rank == 3, Rule::RankGroups, f.op, t.name, *t.facts, t.name);
    require(t.facts->sizes[0] == p.num_groups, Rule::SameGroups, f.op, t.name, *t.facts,
            p.num_groups);
    *t.facts = one_group(*t.facts, *t.stride);
  }
  p.gemm = f.is_scaled ? check_scaled_gemm(g) : check_bf16_gemm(g);
  require(p.num_groups > 0, Rule::SomeGroups, f.op, "b", f.b);
  require(p.gemm.k > 0, Rule::GroupedK, f.op, "a", f.a);
  require(p.gemm.a.major == Major::K, Rule::GroupedAMajor, f.op, "a", f.a);
  p.a_group *= dtype_bytes(f.a.dtype);
  p.b_group *= dtype_bytes(f.b.dtype);
  lower_alignments(p, p.a_group, p.d_group * dtype_bytes(f.d.dtype));
  lower_alignments(p, p.b_group, 0);
  if (is_masked && p.gemm.m > 0 && p.gemm.n > 0 && p.num_groups > 1)
    require(p.d_group >= (p.gemm.m - 1) * p.gemm.d_stride + p.gemm.n, Rule::GroupsApart, f.op, "d",
            f.d, p.gemm.m, p.gemm.n);
  check_layout(f, f.grouping == Grouping::Labels ? p.gemm.m : p.num_groups,
               f.grouping == Grouping::Labels ? "one group number a row of a"
               : is_masked                    ? "one number of rows a group"
                                              : "one end row a group");
  return p;
}

}  // namespace deep_gemm::ops
