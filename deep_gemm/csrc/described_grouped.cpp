// Grouped GEMMs, described.
#include <algorithm>

#include <deep_gemm/csrc/described.hpp>
#include <deep_gemm/csrc/ops/grouped_check.hpp>
#include <deep_gemm/csrc/plan/grouped_plan.hpp>
#include <deep_gemm/csrc/source/grouped_source.hpp>

namespace deep_gemm {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::int64_t alignment_of(const Knobs& knobs) {
  return knobs.mk_alignment == 0 ? 128 : knobs.mk_alignment;
}

TensorFacts scale(const ops::Description& call, std::string_view key) {
  return contains(call.op, "bf16") ? TensorFacts() : call.tensor(key);
}

GroupedProblem check_along_m(const ops::Description& call, const Knobs& knobs) {
  const bool is_masked = contains(call.op, "_masked");
  return ops::check_m_grouped({.op = call.op,
                               .grouping = is_masked                        ? Grouping::Counts
                                           : call.number("use_psum_layout") ? Grouping::Ends
                                                                            : Grouping::Labels,
                               .is_scaled = !contains(call.op, "bf16"),
                               .b_is_transposed = contains(call.op, "_nn_"),
                               .a = call.tensor("a"),
                               .a_scale = scale(call, "a_scale"),
                               .b = call.tensor("b"),
                               .b_scale = scale(call, "b_scale"),
                               .d = call.tensor("d"),
                               .layout = call.tensor(is_masked ? "masked_m" : "grouped_layout"),
                               .recipe = {call.number("gran_m"), call.number("gran_n"),
                                          call.number("gran_k_a"), call.number("gran_k_b")},
                               .alignment = alignment_of(knobs),
                               .zero_padding = call.number("ensure_zero_padding", 1) != 0,
                               .has_alpha = call.has("alpha")});
}

GroupedProblem check_along_k(const ops::Description& call, const Knobs& knobs) {
  return ops::check_k_grouped({.op = call.op,
                               .storage = ops::k_storage_of(call.op),
                               .is_scaled = !contains(call.op, "bf16"),
                               .a = call.tensor("a"),
                               .a_scale = scale(call, "a_scale"),
                               .b = call.tensor("b"),
                               .b_scale = scale(call, "b_scale"),
                               .d = call.tensor("d"),
                               .layout = call.tensor("grouped_layout"),
                               .c = call.optional_tensor("c"),
                               .gran_k = call.number("gran_k_a"),
                               .alignment = alignment_of(knobs),
                               .use_ends = call.number("use_psum_layout") != 0,
                               .ks = call.numbers("ks_cpu"),
                               .has_alpha = call.has("alpha")});
}

DescribedPlan plan(const ops::Description& call, const DeviceTraits& traits, const Knobs& knobs) {
  GroupedProblem p =
      call.op.substr(0, 2) == "k_" ? check_along_k(call, knobs) : check_along_m(call, knobs);
  const bool is_empty = p.gemm.m == 0 || p.gemm.n == 0 || p.gemm.k == 0;
  // What is empty now may not be so next time.
  for (std::int64_t* size : {&p.gemm.m, &p.gemm.n, &p.gemm.k})
    *size = std::max<std::int64_t>(*size, 1);
  const GroupedPlan chosen = plan_grouped(p, traits, knobs, call.op);
  if (is_empty) return {};
  return {to_line(chosen), source_of(chosen)};
}

const FamilyRegistration registration({
    .ops = {"m_grouped_fp8_fp4_gemm_nt_contiguous", "m_grouped_fp8_fp4_gemm_nn_contiguous",
            "m_grouped_fp8_gemm_nt_contiguous", "m_grouped_fp8_gemm_nn_contiguous",
            "m_grouped_fp4_gemm_nt_contiguous", "m_grouped_bf16_gemm_nt_contiguous",
            "m_grouped_bf16_gemm_nn_contiguous", "m_grouped_fp8_fp4_gemm_nt_masked",
            "m_grouped_fp8_gemm_nt_masked", "m_grouped_fp4_gemm_nt_masked",
            "m_grouped_bf16_gemm_nt_masked", "fp8_m_grouped_gemm_nt_masked",
            "bf16_m_grouped_gemm_nt_masked", "k_grouped_fp8_gemm_nt_contiguous",
            "k_grouped_fp8_gemm_tn_contiguous", "k_grouped_fp4_gemm_nt_contiguous",
            "k_grouped_bf16_gemm_tn_contiguous"},
    .keys = {"a",
             "a_scale",
             "b",
             "b_scale",
             "d",
             "c",
             "grouped_layout",
             "masked_m",
             "expected_m",
             "expected_m_for_psum_layout",
             "ks_cpu",
             "gran_m",
             "gran_n",
             "gran_k_a",
             "gran_k_b",
             "disable_ue8m0_cast",
             "use_psum_layout",
             "ensure_zero_padding",
             "use_padded_sf_layout",
             "alpha"},
    .plan = &plan,
});

}  // namespace
}  // namespace deep_gemm
