// Batched products in einsum notation, described: the plan is that of one batch. Keys are the
// arguments of the schema.
#include <deep_gemm/csrc/described.hpp>
#include <deep_gemm/csrc/ops/einsum_check.hpp>
#include <deep_gemm/csrc/plan/gemm_plan.hpp>
#include <deep_gemm/csrc/source/gemm_source.hpp>

namespace deep_gemm {
namespace {

DescribedPlan plan(const ops::Description& call, const DeviceTraits& traits, const Knobs& knobs) {
  const bool is_scaled = call.op == "fp8_einsum";
  ops::EinsumFacts f;
  const auto expr = call.arguments.find("expr");
  f.op = call.op;
  f.expr = expr == call.arguments.end() ? "" : expr->second;
  f.a = call.tensor("a"), f.b = call.tensor("b"), f.d = call.tensor("d");
  f.c = call.optional_tensor("c");
  if (is_scaled) {
    f.a_scale = call.tensor("a_scale"), f.b_scale = call.tensor("b_scale");
    f.recipe = {call.number("gran_m"), call.number("gran_n"), call.number("gran_k_a"),
                call.number("gran_k_b")};
  }
  const ops::BatchedGemm g = is_scaled ? ops::check_fp8_einsum(f) : ops::check_bf16_einsum(f);
  if (g.is_empty() || g.problem.k == 0) return {};
  const GemmPlan chosen = plan_gemm(g.problem, traits, knobs, call.op);
  return {to_line(chosen), source_of(chosen)};
}

const FamilyRegistration registration({
    .ops = {"einsum", "fp8_einsum"},
    .keys = {"expr", "a", "a_scale", "b", "b_scale", "d", "c", "gran_m", "gran_n", "gran_k_a",
             "gran_k_b"},
    .plan = &plan,
});

}  // namespace
}  // namespace deep_gemm
