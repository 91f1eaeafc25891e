// Router logits, and the experts that they choose. check -> plan -> launch, of a dense GEMM and of
// the choice; holds no numbers of its own.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/stableivalue_conversions.h>

#include <deep_gemm/csrc/launch/gate_launch.hpp>
#include <deep_gemm/csrc/ops/gate_check.hpp>
#include <deep_gemm/csrc/ops/gemm_run.hpp>
#include <deep_gemm/csrc/ops/new_tensor.hpp>
#include <deep_gemm/csrc/ops/reference_call.hpp>
#include <deep_gemm/csrc/utils/registry.hpp>
#include <deep_gemm/csrc/utils/state.hpp>
#include <deep_jit/utils/exception.hpp>

namespace deep_gemm::ops {
namespace {

using torch::stable::detail::from;

// logits = x @ weight^T, in float32.
void multiply(const Tensor& x, const Tensor& weight, const Tensor& logits) {
  const GemmFacts facts{.op = "bf16_gemm_nt",
                        .layout = kNt,
                        .a = facts_of(x),
                        .a_scale = {},
                        .b = facts_of(weight),
                        .b_scale = {},
                        .d = facts_of(logits),
                        .c = {},
                        .recipe = {}};
  TorchCall call;
  run_gemm(call, facts, check_bf16_gemm(facts), {&x, nullptr, &weight, nullptr, &logits, nullptr},
           {});
}

void bf16_mega_gate(Tensor x, Tensor weight, std::int64_t num_topk, double scale, Tensor topk_idx,
                    Tensor topk_weights, std::optional<Tensor> mask, std::optional<Tensor> bias,
                    std::optional<Tensor> image_bias, std::optional<Tensor> image_token_mask,
                    std::optional<Tensor> fix_routing_mask, std::optional<Tensor> to_physical_map,
                    std::optional<Tensor> logical_count, std::optional<Tensor> unmapped_topk_idx) {
  const GateFacts facts{.x = facts_of(x),
                        .weight = facts_of(weight),
                        .topk = num_topk,
                        .indices = facts_of(topk_idx),
                        .weights = facts_of(topk_weights),
                        .mask = facts_of(mask),
                        .bias = facts_of(bias),
                        .image_bias = facts_of(image_bias),
                        .image_mask = facts_of(image_token_mask),
                        .fixed_mask = facts_of(fix_routing_mask),
                        .physical_map = facts_of(to_physical_map),
                        .num_copies = facts_of(logical_count),
                        .fixed = facts_of(unmapped_topk_idx)};
  const GateProblem problem = check_gate(facts);
  if (problem.is_meta || problem.rows == 0) return;
  const Tensor logits = new_tensor(DType::Float32, {problem.rows, problem.experts}, facts.x);
  multiply(x, weight, logits);
  const Knobs knobs = current_knobs();
  const GateAddresses at{.logits = logits.data_ptr(),
                         .mask = address_of(facts.mask),
                         .bias = address_of(facts.bias),
                         .image_bias = address_of(facts.image_bias),
                         .image_mask = address_of(facts.image_mask),
                         .fixed_mask = address_of(facts.fixed_mask),
                         .fixed = address_of(facts.fixed),
                         .physical_map = address_of(facts.physical_map),
                         .num_copies = address_of(facts.num_copies),
                         .indices = topk_idx.data_ptr(),
                         .weights = topk_weights.data_ptr(),
                         .scale = static_cast<float>(scale)};
  if (launch_gate(problem, placement_of(facts.x, knobs), knobs, at)) return;
  std::vector<StableIValue> stack = {from(logits),
                                     from(scale),
                                     from(topk_idx),
                                     from(topk_weights),
                                     from(mask),
                                     from(bias),
                                     from(image_bias),
                                     from(image_token_mask),
                                     from(fix_routing_mask),
                                     from(to_physical_map),
                                     from(logical_count),
                                     from(unmapped_topk_idx)};
  call_reference_operator("bf16_mega_gate", "_reference_bf16_mega_gate", stack);
}

DG_REGISTER_OP("bf16_mega_gate", TORCH_BOX(&bf16_mega_gate));

}  // namespace
}  // namespace deep_gemm::ops
