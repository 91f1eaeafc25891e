// Expert choice of a router, described. Keys are the arguments of the schema; outputs that are left
// out have the right shapes.
#include <deep_gemm/csrc/described.hpp>
#include <deep_gemm/csrc/ops/gate_check.hpp>
#include <deep_gemm/csrc/plan/gate_plan.hpp>
#include <deep_gemm/csrc/source/gate_source.hpp>

namespace deep_gemm {
namespace {

TensorFacts output(const ops::Description& call, std::string_view key, DType dtype) {
  if (const auto given = call.optional_tensor(key)) return *given;
  TensorFacts t = call.tensor("x");
  t.dtype = dtype;
  t.sizes[1] = call.number("num_topk");
  t.strides = {t.sizes[1], 1};
  t.address = 0;
  return t;
}

DescribedPlan plan(const ops::Description& call, const DeviceTraits& traits, const Knobs&) {
  const GateProblem problem =
      ops::check_gate({.x = call.tensor("x"),
                       .weight = call.tensor("weight"),
                       .topk = call.number("num_topk"),
                       .indices = output(call, "topk_idx", DType::Int64),
                       .weights = output(call, "topk_weights", DType::Float32),
                       .mask = call.optional_tensor("mask"),
                       .bias = call.optional_tensor("bias"),
                       .image_bias = call.optional_tensor("image_bias"),
                       .image_mask = call.optional_tensor("image_token_mask"),
                       .fixed_mask = call.optional_tensor("fix_routing_mask"),
                       .physical_map = call.optional_tensor("to_physical_map"),
                       .num_copies = call.optional_tensor("logical_count"),
                       .fixed = call.optional_tensor("unmapped_topk_idx")});
  if (problem.rows == 0) return {};
  const GatePlan chosen = plan_gate(problem, traits);
  return {to_line(chosen), source_of(chosen)};
}

const FamilyRegistration registration({
    .ops = {"bf16_mega_gate"},
    .keys = {"x", "weight", "num_topk", "topk_idx", "topk_weights", "mask", "bias", "image_bias",
             "image_token_mask", "fix_routing_mask", "to_physical_map", "logical_count",
             "unmapped_topk_idx"},
    .plan = &plan,
});

}  // namespace
}  // namespace deep_gemm
