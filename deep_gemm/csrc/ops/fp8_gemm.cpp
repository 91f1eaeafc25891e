// Dense GEMM with scaled operands. check -> plan -> launch; holds no numbers of its own.
#include <deep_gemm/csrc/ops/gemm_run.hpp>
#include <deep_gemm/csrc/ops/op_name.hpp>

namespace deep_gemm::ops {
namespace {

template <OpName kOp>
bool fp8_gemm(Call& call, const Arg& a, const Arg& a_scale, const Arg& b, const Arg& b_scale,
              const Arg& d, const std::optional<Arg>& c, std::int64_t gran_m, std::int64_t gran_n,
              std::int64_t gran_k_a, std::int64_t gran_k_b, bool /*disable_ue8m0_cast*/,
              std::optional<double> alpha) {
  const GemmFacts facts{.op = kOp.text,
                        .layout = layout_of(kOp.text),
                        .a = a.facts,
                        .a_scale = a_scale.facts,
                        .b = b.facts,
                        .b_scale = b_scale.facts,
                        .d = d.facts,
                        .c = facts_of(c),
                        .recipe = {gran_m, gran_n, gran_k_a, gran_k_b},
                        .has_alpha = alpha.has_value()};
  return run_gemm(call, facts, check_scaled_gemm(facts),
                  {a.tensor, a_scale.tensor, b.tensor, b_scale.tensor, d.tensor, tensor_of(c)},
                  alpha);
}

DG_OPERATOR("fp8_gemm_nt", &fp8_gemm<"fp8_gemm_nt">);
DG_OPERATOR("fp8_gemm_nn", &fp8_gemm<"fp8_gemm_nn">);
DG_OPERATOR("fp8_gemm_tn", &fp8_gemm<"fp8_gemm_tn">);
DG_OPERATOR("fp8_gemm_tt", &fp8_gemm<"fp8_gemm_tt">);
DG_OPERATOR("fp8_fp4_gemm_nt", &fp8_gemm<"fp8_fp4_gemm_nt">);
DG_OPERATOR("fp8_fp4_gemm_nn", &fp8_gemm<"fp8_fp4_gemm_nn">);
DG_OPERATOR("fp8_fp4_gemm_tn", &fp8_gemm<"fp8_fp4_gemm_tn">);
DG_OPERATOR("fp8_fp4_gemm_tt", &fp8_gemm<"fp8_fp4_gemm_tt">);
DG_OPERATOR("fp4_gemm_nt", &fp8_gemm<"fp4_gemm_nt">);

}  // namespace
}  // namespace deep_gemm::ops
