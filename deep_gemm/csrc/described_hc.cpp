// Hyper-connection product, described. Keys are the arguments of the schema.
#include <algorithm>

#include <deep_gemm/csrc/described.hpp>
#include <deep_gemm/csrc/ops/hc_check.hpp>
#include <deep_gemm/csrc/plan/hc_plan.hpp>
#include <deep_gemm/csrc/source/hc_source.hpp>

namespace deep_gemm {
namespace {

DescribedPlan plan(const ops::Description& call, const DeviceTraits& traits, const Knobs& knobs) {
  ops::HcFacts facts{
      call.tensor("a"), call.tensor("b"), call.tensor("d"), call.tensor("sqr_sum"), {}};
  if (call.has("num_splits")) facts.splits = call.number("num_splits");
  HcProblem problem = ops::check_hc(facts);
  const bool is_empty = problem.m == 0;
  // What is empty now may not be so next time.
  problem.m = std::max<std::int64_t>(problem.m, 1);
  const HcPlan chosen = plan_hc(problem, traits, knobs);
  if (is_empty) return {};
  return {to_line(chosen), source_of(chosen)};
}

const FamilyRegistration registration({
    .ops = {"tf32_hc_prenorm_gemm"},
    .keys = {"a", "b", "d", "sqr_sum", "num_splits"},
    .plan = &plan,
});

}  // namespace
}  // namespace deep_gemm
