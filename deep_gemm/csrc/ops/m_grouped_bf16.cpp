// bf16 GEMMs grouped along m. check -> plan -> launch; holds no numbers of its own.
#include <torch/csrc/stable/library.h>

#include <deep_gemm/csrc/ops/grouped_check.hpp>
#include <deep_gemm/csrc/ops/grouped_run.hpp>
#include <deep_gemm/csrc/ops/op_name.hpp>
#include <deep_gemm/csrc/utils/registry.hpp>

namespace deep_gemm::ops {
namespace {

void run(std::string_view op, Grouping grouping, bool zero_padding, const Tensor& a,
         const Tensor& b, const Tensor& d, const Tensor& layout, std::optional<double> alpha) {
  const bool is_nn = op.find("_nn_") != std::string_view::npos;
  const GroupedProblem problem = check_m_grouped({.op = op,
                                                  .grouping = grouping,
                                                  .is_scaled = false,
                                                  .b_is_transposed = is_nn,
                                                  .a = facts_of(a),
                                                  .a_scale = {},
                                                  .b = facts_of(b),
                                                  .b_scale = {},
                                                  .d = facts_of(d),
                                                  .layout = facts_of(layout),
                                                  .recipe = {},
                                                  .alignment = group_alignment(),
                                                  .zero_padding = zero_padding,
                                                  .has_alpha = alpha.has_value()});
  run_grouped(op, problem, {a, nullptr, b, nullptr, d, nullptr, layout, is_nn}, std::nullopt,
              alpha);
}

template <OpName kOp>
void contiguous(Tensor a, Tensor b, Tensor d, Tensor grouped_layout, bool use_psum_layout,
                bool ensure_zero_padding, std::optional<double> alpha) {
  run(kOp.text, use_psum_layout ? Grouping::Ends : Grouping::Labels, ensure_zero_padding, a, b, d,
      grouped_layout, alpha);
}

template <OpName kOp>
void masked(Tensor a, Tensor b, Tensor d, Tensor masked_m, std::int64_t /*expected_m*/,
            std::optional<double> alpha) {
  run(kOp.text, Grouping::Counts, true, a, b, d, masked_m, alpha);
}

#define DG_M_GROUPED(NAME, FUNCTION) DG_REGISTER_OP(NAME, TORCH_BOX(&FUNCTION<NAME>))

DG_M_GROUPED("m_grouped_bf16_gemm_nt_contiguous", contiguous);
DG_M_GROUPED("m_grouped_bf16_gemm_nn_contiguous", contiguous);
DG_M_GROUPED("m_grouped_bf16_gemm_nt_masked", masked);
DG_M_GROUPED("bf16_m_grouped_gemm_nt_masked", masked);

}  // namespace
}  // namespace deep_gemm::ops
