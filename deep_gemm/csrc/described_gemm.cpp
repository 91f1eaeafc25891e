// Dense GEMMs, described.
#include <deep_gemm/csrc/described.hpp>
#include <deep_gemm/csrc/ops/gemm_check.hpp>
#include <deep_gemm/csrc/plan/gemm_plan.hpp>
#include <deep_gemm/csrc/source/gemm_source.hpp>

namespace deep_gemm {
namespace {

GemmProblem check(const ops::Description& call) {
  const bool is_scaled = call.op.substr(0, 4) != "bf16";
  ops::GemmFacts facts{.op = call.op,
                       .layout = ops::layout_of(call.op),
                       .a = call.tensor("a"),
                       .a_scale = {},
                       .b = call.tensor("b"),
                       .b_scale = {},
                       .d = call.tensor("d"),
                       .c = call.optional_tensor("c"),
                       .recipe = {call.number("gran_m"), call.number("gran_n"),
                                  call.number("gran_k_a"), call.number("gran_k_b")},
                       .has_alpha = call.has("alpha")};
  if (!is_scaled) return ops::check_bf16_gemm(facts);
  facts.a_scale = call.tensor("a_scale");
  facts.b_scale = call.tensor("b_scale");
  return ops::check_scaled_gemm(facts);
}

DescribedPlan plan(const ops::Description& call, const DeviceTraits& traits, const Knobs& knobs) {
  GemmProblem problem = check(call);
  const bool is_empty = problem.m == 0 || problem.n == 0 || problem.k == 0;
  // What is empty now may not be so next time.
  if (is_empty) problem.m = problem.n = problem.k = 1;
  const GemmPlan chosen = plan_gemm(problem, traits, knobs, call.op);
  if (is_empty) return {};
  return {to_line(chosen), source_of(chosen)};
}

const FamilyRegistration registration({
    .ops = {"fp8_gemm_nt", "fp8_gemm_nn", "fp8_gemm_tn", "fp8_gemm_tt", "fp8_fp4_gemm_nt",
            "fp8_fp4_gemm_nn", "fp8_fp4_gemm_tn", "fp8_fp4_gemm_tt", "fp4_gemm_nt", "bf16_gemm_nt",
            "bf16_gemm_nn", "bf16_gemm_tn", "bf16_gemm_tt"},
    .keys = {"a", "a_scale", "b", "b_scale", "d", "c", "gran_m", "gran_n", "gran_k_a", "gran_k_b",
             "disable_ue8m0_cast", "alpha"},
    .plan = &plan,
});

}  // namespace
}  // namespace deep_gemm
