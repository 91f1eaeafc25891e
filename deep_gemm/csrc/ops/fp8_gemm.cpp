// Dense GEMM with scaled operands. check -> plan -> launch; holds no numbers of its own.
#include <torch/csrc/stable/library.h>

#include <deep_gemm/csrc/ops/gemm_run.hpp>
#include <deep_gemm/csrc/ops/op_name.hpp>
#include <deep_gemm/csrc/utils/eager_call.hpp>
#include <deep_gemm/csrc/utils/registry.hpp>

namespace deep_gemm::ops {
namespace {

template <OpName kOp>
void fp8_gemm(Tensor a, Tensor a_scale, Tensor b, Tensor b_scale, Tensor d, std::optional<Tensor> c,
              std::int64_t gran_m, std::int64_t gran_n, std::int64_t gran_k_a,
              std::int64_t gran_k_b, bool /*disable_ue8m0_cast*/, std::optional<double> alpha) {
  const GemmFacts facts{.op = kOp.text,
                        .layout = layout_of(kOp.text),
                        .a = facts_of(a),
                        .a_scale = facts_of(a_scale),
                        .b = facts_of(b),
                        .b_scale = facts_of(b_scale),
                        .d = facts_of(d),
                        .c = facts_of(c),
                        .recipe = {gran_m, gran_n, gran_k_a, gran_k_b},
                        .has_alpha = alpha.has_value()};
  const GemmProblem problem = check_scaled_gemm(facts);
  if (finish_if_trivial(problem, d, c)) return;
  launch_or_refer(facts, problem, {a, &a_scale, b, &b_scale, d, c}, alpha);
}

template <OpName kOp>
bool eager_fp8_gemm(const EagerArguments& call) {
  const std::optional<double> alpha = call.maybe_number(11);
  const GemmFacts facts{
      .op = kOp.text,
      .layout = layout_of(kOp.text),
      .a = call.tensor(0),
      .a_scale = call.tensor(1),
      .b = call.tensor(2),
      .b_scale = call.tensor(3),
      .d = call.tensor(4),
      .c = call.maybe_tensor(5),
      .recipe = {call.integer(6), call.integer(7), call.integer(8), call.integer(9)},
      .has_alpha = alpha.has_value()};
  return launch_if_ready(facts, check_scaled_gemm(facts), alpha);
}

DG_REGISTER_EAGER("fp8_gemm_nt", &eager_fp8_gemm<"fp8_gemm_nt">);
DG_REGISTER_EAGER("fp8_gemm_nn", &eager_fp8_gemm<"fp8_gemm_nn">);
DG_REGISTER_EAGER("fp8_gemm_tn", &eager_fp8_gemm<"fp8_gemm_tn">);
DG_REGISTER_EAGER("fp8_gemm_tt", &eager_fp8_gemm<"fp8_gemm_tt">);

DG_REGISTER_OP("fp8_gemm_nt", TORCH_BOX(&fp8_gemm<"fp8_gemm_nt">));
DG_REGISTER_OP("fp8_gemm_nn", TORCH_BOX(&fp8_gemm<"fp8_gemm_nn">));
DG_REGISTER_OP("fp8_gemm_tn", TORCH_BOX(&fp8_gemm<"fp8_gemm_tn">));
DG_REGISTER_OP("fp8_gemm_tt", TORCH_BOX(&fp8_gemm<"fp8_gemm_tt">));
DG_REGISTER_OP("fp8_fp4_gemm_nt", TORCH_BOX(&fp8_gemm<"fp8_fp4_gemm_nt">));
DG_REGISTER_OP("fp8_fp4_gemm_nn", TORCH_BOX(&fp8_gemm<"fp8_fp4_gemm_nn">));
DG_REGISTER_OP("fp8_fp4_gemm_tn", TORCH_BOX(&fp8_gemm<"fp8_fp4_gemm_tn">));
DG_REGISTER_OP("fp8_fp4_gemm_tt", TORCH_BOX(&fp8_gemm<"fp8_fp4_gemm_tt">));
DG_REGISTER_OP("fp4_gemm_nt", TORCH_BOX(&fp8_gemm<"fp4_gemm_nt">));

}  // namespace
}  // namespace deep_gemm::ops
