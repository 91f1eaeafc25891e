// Dense bf16 GEMM. check -> plan -> launch; holds no numbers of its own.
#include <deep_gemm/csrc/ops/gemm_run.hpp>
#include <deep_gemm/csrc/ops/op_name.hpp>

namespace deep_gemm::ops {
namespace {

template <OpName kOp>
bool bf16_gemm(Call& call, const Arg& a, const Arg& b, const Arg& d, const std::optional<Arg>& c,
               std::optional<double> alpha) {
  const GemmFacts facts{.op = kOp.text,
                        .layout = layout_of(kOp.text),
                        .a = a.facts,
                        .a_scale = {},
                        .b = b.facts,
                        .b_scale = {},
                        .d = d.facts,
                        .c = facts_of(c),
                        .recipe = {},
                        .has_alpha = alpha.has_value()};
  return run_gemm(call, facts, check_bf16_gemm(facts),
                  {a.tensor, nullptr, b.tensor, nullptr, d.tensor, tensor_of(c)}, alpha);
}

DG_OPERATOR("bf16_gemm_nt", &bf16_gemm<"bf16_gemm_nt">);
DG_OPERATOR("bf16_gemm_nn", &bf16_gemm<"bf16_gemm_nn">);
DG_OPERATOR("bf16_gemm_tn", &bf16_gemm<"bf16_gemm_tn">);
DG_OPERATOR("bf16_gemm_tt", &bf16_gemm<"bf16_gemm_tt">);

}  // namespace
}  // namespace deep_gemm::ops
