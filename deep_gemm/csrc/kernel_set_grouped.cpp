// The kernels of GEMMs grouped along m or along k.
#include <deep_gemm/csrc/kernel_set.hpp>
#include <deep_gemm/csrc/ops/grouped_check.hpp>
#include <deep_gemm/csrc/plan/grouped_plan.hpp>
#include <deep_gemm/csrc/problem/sizes.hpp>
#include <deep_gemm/csrc/source/grouped_source.hpp>

namespace deep_gemm {
namespace {

using Sizes = std::initializer_list<std::int64_t>;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::int64_t alignment_of(const Knobs& knobs) {
  return knobs.mk_alignment == 0 ? 128 : knobs.mk_alignment;
}

std::vector<Grouping> groupings_of(std::string_view op) {
  if (op.substr(0, 2) == "k_") return {Grouping::Sizes, Grouping::KEnds};
  if (contains(op, "_masked")) return {Grouping::Counts};
  return {Grouping::Labels, Grouping::Ends};
}

struct Collector {
  const KernelWish& wish;
  const DeviceTraits& traits;
  const Knobs& knobs;
  Kernels& kernels;

  void add_reachable(const GroupedProblem& p) const {
    for (const GroupedPlan& plan : reachable_grouped_plans(p, traits)) kernels.add(source_of(plan));
  }
  // Of one call; refuses what the call would.
  void add(const GroupedProblem& p) const {
    plan_grouped(p, traits, knobs, wish.op);
    add_reachable(p);
  }
};

// ---- Any sizes ----

void add_any(const Collector& out) {
  const std::string_view op = out.wish.op;
  const bool is_along_k = op.substr(0, 2) == "k_";
  const bool is_k_contiguous = is_along_k && ops::k_storage_of(op) != ops::KStorage::Rows;
  for (const OperandTypes types : operand_types(op)) {
    for (const GemmProblem& gemm :
         kinds_of_gemm(types, granularities(out.wish), output_types(out.wish))) {
      if ((!is_along_k || is_k_contiguous) && gemm.a.major != Major::K) continue;
      if (is_k_contiguous && gemm.b.major != Major::K) continue;
      GroupedProblem p;
      p.gemm = gemm;
      p.num_groups = 8;
      p.alignment = alignment_of(out.knobs);
      p.is_flat = is_along_k && ops::k_storage_of(op) == ops::KStorage::Flat;
      // Groups lie one after the other, as the tuned kernels want them.
      p.d_group = gemm.m * gemm.d_stride;
      p.a_group = (gemm.a.major == Major::K ? gemm.m : gemm.k) * gemm.a.stride_bytes;
      p.b_group = (gemm.b.major == Major::K ? gemm.n : gemm.k) * gemm.b.stride_bytes;
      for (const Grouping grouping : groupings_of(op)) {
        p.grouping = grouping;
        out.add_reachable(p);
      }
    }
  }
}

// ---- Along m ----

void add_along_m(const Collector& out, OperandTypes types, Grouping grouping, std::int64_t groups,
                 std::int64_t m, std::int64_t n, std::int64_t k) {
  const bool is_masked = grouping == Grouping::Counts;
  ops::MGroupedFacts f;
  f.op = out.wish.op;
  f.grouping = grouping;
  f.is_scaled = types.a != ElementType::Bf16;
  f.b_is_transposed = contains(f.op, "_nn_");
  f.alignment = alignment_of(out.knobs);
  const auto rows = [&](std::int64_t columns, const auto& make) {
    return is_masked ? make({groups, m, columns}) : make({m, columns});
  };
  const auto weights = [&](std::int64_t mn, std::int64_t along_k, const auto& make) {
    return f.b_is_transposed ? make({groups, along_k, mn}) : make({groups, mn, along_k});
  };
  f.a = rows(k, [&](Sizes s) { return operand(types.a, s); });
  f.b = weights(n, k, [&](Sizes s) { return operand(types.b, s); });
  if (f.a.rank == 0 || f.b.rank == 0) return;
  f.layout = contiguous(DType::Int32, {grouping == Grouping::Labels ? m : groups});
  for (const OutputType d_type : output_types(out.wish)) {
    f.d = rows(n, [&](Sizes s) { return contiguous(dtype_of(d_type), s); });
    if (!f.is_scaled) {
      out.add(check_m_grouped(f));
      continue;
    }
    for (const std::int64_t gran : granularities(out.wish)) {
      for (const std::int64_t gran_n : {1, 128}) {
        for (const DType dtype : {DType::Float32, DType::Int32}) {
          const std::int64_t columns = ceil_div(k, dtype == DType::Int32 ? 4 * gran : gran);
          const auto scale = [&](Sizes s) { return contiguous(dtype, s); };
          f.recipe = {1, gran_n, gran, gran};
          f.a_scale = rows(columns, scale);
          f.b_scale = weights(ceil_div(n, gran_n), columns, scale);
          for (const bool has_alpha : {false, true}) {
            f.has_alpha = has_alpha;
            out.add(check_m_grouped(f));
          }
        }
      }
    }
  }
}

// ---- Along k ----

// k is that of each group.
void add_along_k(const Collector& out, OperandTypes types, Grouping grouping, std::int64_t groups,
                 std::int64_t m, std::int64_t n, std::int64_t k) {
  ops::KGroupedFacts f;
  f.op = out.wish.op;
  f.storage = ops::k_storage_of(f.op);
  f.is_scaled = types.a != ElementType::Bf16;
  f.alignment = alignment_of(out.knobs);
  f.use_ends = grouping == Grouping::KEnds;
  f.ks = std::vector<std::int64_t>(static_cast<std::size_t>(groups), k);
  const std::int64_t sum = groups * k;
  const auto stored = [&](std::int64_t mn) {
    switch (f.storage) {
      case ops::KStorage::Flat:
        return operand(types.a, {mn * sum});
      case ops::KStorage::Rows:
        return operand(types.a, {sum, mn});
      case ops::KStorage::Columns:
        break;
    }
    return operand(types.a, {mn, sum});
  };
  f.a = stored(m);
  f.b = stored(n);
  if (f.a.rank == 0 || f.b.rank == 0) return;
  f.layout = contiguous(DType::Int32, {groups});
  for (const OutputType d_type : output_types(out.wish)) {
    f.d = contiguous(dtype_of(d_type), {groups, m, n});
    for (const bool has_c : {false, true}) {
      f.c = has_c ? std::optional(f.d) : std::nullopt;
      if (!f.is_scaled) {
        out.add(check_k_grouped(f));
        continue;
      }
      for (const std::int64_t gran : granularities(out.wish)) {
        for (const DType dtype : {DType::Float32, DType::Int32}) {
          const std::int64_t columns =
              groups * ceil_div(k, dtype == DType::Int32 ? 4 * gran : gran);
          const auto scale = [&](std::int64_t mn) {
            return f.storage == ops::KStorage::Flat ? contiguous(dtype, {mn, columns})
                                                    : contiguous(dtype, {columns, mn});
          };
          f.gran_k = gran;
          f.a_scale = scale(m);
          f.b_scale = scale(n);
          out.add(check_k_grouped(f));
        }
      }
    }
  }
}

void add_grouped(const KernelWish& wish, const DeviceTraits& traits, const Knobs& knobs,
                 Kernels& kernels) {
  const Collector out{wish, traits, knobs, kernels};
  if (wish.is_any_size()) return add_any(out);
  constexpr std::int64_t kGroups[] = {1, 3};
  const auto add = wish.op.substr(0, 2) == "k_" ? add_along_k : add_along_m;
  for (const OperandTypes types : operand_types(wish.op))
    for (const Grouping grouping : groupings_of(wish.op))
      for (const std::int64_t n : wish.n)
        for (const std::int64_t k : wish.k)
          for (const std::int64_t groups : kGroups)
            for (const std::int64_t m : kProbes) add(out, types, grouping, groups, m, n, k);
}

const std::vector<std::string_view> kKeys = {"n", "k", "dtypes", "gran_k"};

const KernelSetRegistration registrations[] = {
    KernelSetRegistration(
        {.ops = {"m_grouped_fp8_fp4_gemm_nt_contiguous", "m_grouped_fp8_fp4_gemm_nn_contiguous",
                 "m_grouped_fp4_gemm_nt_contiguous"},
         .keys = kKeys,
         .add = &add_grouped}),
    KernelSetRegistration(
        {.ops = {"m_grouped_fp8_gemm_nt_contiguous", "m_grouped_fp8_gemm_nn_contiguous"},
         .keys = kKeys,
         .add = &add_grouped}),
    KernelSetRegistration(
        {.ops = {"m_grouped_bf16_gemm_nt_contiguous", "m_grouped_bf16_gemm_nn_contiguous"},
         .keys = kKeys,
         .add = &add_grouped}),
    KernelSetRegistration(
        {.ops = {"m_grouped_fp8_fp4_gemm_nt_masked", "m_grouped_fp4_gemm_nt_masked"},
         .keys = kKeys,
         .add = &add_grouped}),
    KernelSetRegistration({.ops = {"m_grouped_fp8_gemm_nt_masked", "fp8_m_grouped_gemm_nt_masked"},
                           .keys = kKeys,
                           .add = &add_grouped}),
    KernelSetRegistration(
        {.ops = {"m_grouped_bf16_gemm_nt_masked", "bf16_m_grouped_gemm_nt_masked"},
         .keys = kKeys,
         .add = &add_grouped}),
    KernelSetRegistration(
        {.ops = {"k_grouped_fp8_gemm_nt_contiguous"}, .keys = kKeys, .add = &add_grouped}),
    KernelSetRegistration(
        {.ops = {"k_grouped_fp8_gemm_tn_contiguous"}, .keys = kKeys, .add = &add_grouped}),
    KernelSetRegistration(
        {.ops = {"k_grouped_fp4_gemm_nt_contiguous"}, .keys = kKeys, .add = &add_grouped}),
    KernelSetRegistration(
        {.ops = {"k_grouped_bf16_gemm_tn_contiguous"}, .keys = kKeys, .add = &add_grouped}),
};

}  // namespace
}  // namespace deep_gemm
