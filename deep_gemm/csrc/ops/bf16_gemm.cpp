// Dense bf16 GEMM. check -> plan -> launch; holds no numbers of its own.
#include <torch/csrc/stable/library.h>

#include <deep_gemm/csrc/ops/gemm_run.hpp>
#include <deep_gemm/csrc/utils/eager_call.hpp>
#include <deep_gemm/csrc/utils/registry.hpp>

namespace deep_gemm::ops {
namespace {

constexpr std::string_view kOps[] = {"bf16_gemm_nt", "bf16_gemm_nn", "bf16_gemm_tn",
                                     "bf16_gemm_tt"};

template <int kOp>
void bf16_gemm(Tensor a, Tensor b, Tensor d, std::optional<Tensor> c, std::optional<double> alpha) {
  const GemmFacts facts{.op = kOps[kOp],
                        .layout = layout_of(kOps[kOp]),
                        .a = facts_of(a),
                        .a_scale = {},
                        .b = facts_of(b),
                        .b_scale = {},
                        .d = facts_of(d),
                        .c = facts_of(c),
                        .recipe = {},
                        .has_alpha = alpha.has_value()};
  const GemmProblem problem = check_bf16_gemm(facts);
  if (finish_if_trivial(problem, d, c)) return;
  launch_or_refer(facts, problem, {a, nullptr, b, nullptr, d, c}, alpha);
}

template <int kOp>
bool eager_bf16_gemm(const EagerArguments& call) {
  const std::optional<double> alpha = call.maybe_number(4);
  const GemmFacts facts{.op = kOps[kOp],
                        .layout = layout_of(kOps[kOp]),
                        .a = call.tensor(0),
                        .a_scale = {},
                        .b = call.tensor(1),
                        .b_scale = {},
                        .d = call.tensor(2),
                        .c = call.maybe_tensor(3),
                        .recipe = {},
                        .has_alpha = alpha.has_value()};
  return launch_if_ready(facts, check_bf16_gemm(facts), alpha);
}

DG_REGISTER_EAGER("bf16_gemm_nt", &eager_bf16_gemm<0>);
DG_REGISTER_EAGER("bf16_gemm_nn", &eager_bf16_gemm<1>);
DG_REGISTER_EAGER("bf16_gemm_tn", &eager_bf16_gemm<2>);
DG_REGISTER_EAGER("bf16_gemm_tt", &eager_bf16_gemm<3>);

DG_REGISTER_OP("bf16_gemm_nt", TORCH_BOX(&bf16_gemm<0>));
DG_REGISTER_OP("bf16_gemm_nn", TORCH_BOX(&bf16_gemm<1>));
DG_REGISTER_OP("bf16_gemm_tn", TORCH_BOX(&bf16_gemm<2>));
DG_REGISTER_OP("bf16_gemm_tt", TORCH_BOX(&bf16_gemm<3>));

}  // namespace
}  // namespace deep_gemm::ops
