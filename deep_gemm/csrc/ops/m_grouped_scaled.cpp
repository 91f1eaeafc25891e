// GEMMs with scaled operands, grouped along m. check -> plan -> launch; holds no numbers of its
// own.
#include <torch/csrc/stable/library.h>

#include <deep_gemm/csrc/ops/grouped_check.hpp>
#include <deep_gemm/csrc/ops/grouped_run.hpp>
#include <deep_gemm/csrc/ops/op_name.hpp>
#include <deep_gemm/csrc/utils/registry.hpp>

namespace deep_gemm::ops {
namespace {

struct Call {
  std::string_view op;
  Grouping grouping;
  bool b_is_transposed;
  bool zero_padding;
};

void run(const Call& call, const Tensor& a, const Tensor& a_scale, const Tensor& b,
         const Tensor& b_scale, const Tensor& d, const Tensor& layout, const Recipe& recipe,
         std::optional<double> alpha) {
  const GroupedProblem problem = check_m_grouped({.op = call.op,
                                                  .grouping = call.grouping,
                                                  .is_scaled = true,
                                                  .b_is_transposed = call.b_is_transposed,
                                                  .a = facts_of(a),
                                                  .a_scale = facts_of(a_scale),
                                                  .b = facts_of(b),
                                                  .b_scale = facts_of(b_scale),
                                                  .d = facts_of(d),
                                                  .layout = facts_of(layout),
                                                  .recipe = recipe,
                                                  .alignment = group_alignment(),
                                                  .zero_padding = call.zero_padding,
                                                  .has_alpha = alpha.has_value()});
  run_grouped(call.op, problem,
              {a, &a_scale, b, &b_scale, d, nullptr, layout, call.b_is_transposed}, std::nullopt,
              alpha);
}

template <OpName kOp>
void contiguous(Tensor a, Tensor a_scale, Tensor b, Tensor b_scale, Tensor d, Tensor grouped_layout,
                std::int64_t gran_m, std::int64_t gran_n, std::int64_t gran_k_a,
                std::int64_t gran_k_b, bool /*disable_ue8m0_cast*/, bool use_psum_layout,
                bool ensure_zero_padding, std::optional<double> alpha) {
  constexpr bool kIsNn = std::string_view(kOp.text).find("_nn_") != std::string_view::npos;
  const Grouping grouping = use_psum_layout ? Grouping::Ends : Grouping::Labels;
  run({kOp.text, grouping, kIsNn, ensure_zero_padding}, a, a_scale, b, b_scale, d, grouped_layout,
      {gran_m, gran_n, gran_k_a, gran_k_b}, alpha);
}

template <OpName kOp>
void masked(Tensor a, Tensor a_scale, Tensor b, Tensor b_scale, Tensor d, Tensor masked_m,
            std::int64_t /*expected_m*/, std::int64_t gran_m, std::int64_t gran_n,
            std::int64_t gran_k_a, std::int64_t gran_k_b, bool /*disable_ue8m0_cast*/,
            std::optional<double> alpha) {
  run({kOp.text, Grouping::Counts, false, true}, a, a_scale, b, b_scale, d, masked_m,
      {gran_m, gran_n, gran_k_a, gran_k_b}, alpha);
}

#define DG_M_GROUPED(NAME, FUNCTION) DG_REGISTER_OP(NAME, TORCH_BOX(&FUNCTION<NAME>))

DG_M_GROUPED("m_grouped_fp8_fp4_gemm_nt_contiguous", contiguous);
DG_M_GROUPED("m_grouped_fp8_fp4_gemm_nn_contiguous", contiguous);
DG_M_GROUPED("m_grouped_fp8_gemm_nt_contiguous", contiguous);
DG_M_GROUPED("m_grouped_fp8_gemm_nn_contiguous", contiguous);
DG_M_GROUPED("m_grouped_fp4_gemm_nt_contiguous", contiguous);
DG_M_GROUPED("m_grouped_fp8_fp4_gemm_nt_masked", masked);
DG_M_GROUPED("m_grouped_fp8_gemm_nt_masked", masked);
DG_M_GROUPED("m_grouped_fp4_gemm_nt_masked", masked);
DG_M_GROUPED("fp8_m_grouped_gemm_nt_masked", masked);

}  // namespace
}  // namespace deep_gemm::ops
