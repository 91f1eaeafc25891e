// bf16 GEMMs grouped along m. check -> plan -> launch; holds no numbers of its own.
#include <deep_gemm/csrc/ops/grouped_check.hpp>
#include <deep_gemm/csrc/ops/grouped_run.hpp>
#include <deep_gemm/csrc/ops/op_name.hpp>

namespace deep_gemm::ops {
namespace {

bool run(Call& call, std::string_view op, Grouping grouping, bool zero_padding, const Arg& a,
         const Arg& b, const Arg& d, const Arg& layout, std::optional<double> alpha) {
  const bool is_nn = op.find("_nn_") != std::string_view::npos;
  const MGroupedFacts facts{.op = op,
                            .grouping = grouping,
                            .is_scaled = false,
                            .b_is_transposed = is_nn,
                            .a = a.facts,
                            .a_scale = {},
                            .b = b.facts,
                            .b_scale = {},
                            .d = d.facts,
                            .layout = layout.facts,
                            .recipe = {},
                            .alignment = group_alignment(),
                            .zero_padding = zero_padding,
                            .has_alpha = alpha.has_value()};
  return run_grouped(call, op, check_m_grouped(facts),
                     {.a = a, .b = b, .d = d, .layout = layout, .b_is_transposed = is_nn}, nullptr,
                     alpha);
}

template <OpName kOp>
bool contiguous(Call& call, const Arg& a, const Arg& b, const Arg& d, const Arg& grouped_layout,
                bool use_psum_layout, bool ensure_zero_padding, std::optional<double> alpha) {
  return run(call, kOp.text, use_psum_layout ? Grouping::Ends : Grouping::Labels,
             ensure_zero_padding, a, b, d, grouped_layout, alpha);
}

template <OpName kOp>
bool masked(Call& call, const Arg& a, const Arg& b, const Arg& d, const Arg& masked_m,
            std::int64_t /*expected_m*/, std::optional<double> alpha) {
  return run(call, kOp.text, Grouping::Counts, true, a, b, d, masked_m, alpha);
}

#define DG_M_GROUPED(NAME, FUNCTION) DG_OPERATOR(NAME, &FUNCTION<NAME>)

DG_M_GROUPED("m_grouped_bf16_gemm_nt_contiguous", contiguous);
DG_M_GROUPED("m_grouped_bf16_gemm_nn_contiguous", contiguous);
DG_M_GROUPED("m_grouped_bf16_gemm_nt_masked", masked);
DG_M_GROUPED("bf16_m_grouped_gemm_nt_masked", masked);

}  // namespace
}  // namespace deep_gemm::ops
