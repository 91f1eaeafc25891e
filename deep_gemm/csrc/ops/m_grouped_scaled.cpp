// GEMMs with scaled operands, grouped along m. check -> plan -> launch; holds no numbers of its
// own.
#include <deep_gemm/csrc/ops/grouped_check.hpp>
#include <deep_gemm/csrc/ops/grouped_run.hpp>
#include <deep_gemm/csrc/ops/op_name.hpp>

namespace deep_gemm::ops {
namespace {

struct Shape {
  std::string_view op;
  Grouping grouping;
  bool b_is_transposed;
  bool zero_padding;
};

bool run(Call& call, const Shape& shape, const Arg& a, const Arg& a_scale, const Arg& b,
         const Arg& b_scale, const Arg& d, const Arg& layout, const Recipe& recipe,
         std::optional<double> alpha) {
  const MGroupedFacts facts{.op = shape.op,
                            .grouping = shape.grouping,
                            .is_scaled = true,
                            .b_is_transposed = shape.b_is_transposed,
                            .a = a.facts,
                            .a_scale = a_scale.facts,
                            .b = b.facts,
                            .b_scale = b_scale.facts,
                            .d = d.facts,
                            .layout = layout.facts,
                            .recipe = recipe,
                            .alignment = group_alignment(),
                            .zero_padding = shape.zero_padding,
                            .has_alpha = alpha.has_value()};
  return run_grouped(call, shape.op, check_m_grouped(facts),
                     {.a = a,
                      .a_scale = &a_scale,
                      .b = b,
                      .b_scale = &b_scale,
                      .d = d,
                      .layout = layout,
                      .b_is_transposed = shape.b_is_transposed},
                     nullptr, alpha);
}

template <OpName kOp>
bool contiguous(Call& call, const Arg& a, const Arg& a_scale, const Arg& b, const Arg& b_scale,
                const Arg& d, const Arg& grouped_layout, std::int64_t gran_m, std::int64_t gran_n,
                std::int64_t gran_k_a, std::int64_t gran_k_b, bool /*disable_ue8m0_cast*/,
                bool use_psum_layout, bool ensure_zero_padding, std::optional<double> alpha) {
  constexpr bool kIsNn = std::string_view(kOp.text).find("_nn_") != std::string_view::npos;
  const Grouping grouping = use_psum_layout ? Grouping::Ends : Grouping::Labels;
  return run(call, {kOp.text, grouping, kIsNn, ensure_zero_padding}, a, a_scale, b, b_scale, d,
             grouped_layout, {gran_m, gran_n, gran_k_a, gran_k_b}, alpha);
}

template <OpName kOp>
bool masked(Call& call, const Arg& a, const Arg& a_scale, const Arg& b, const Arg& b_scale,
            const Arg& d, const Arg& masked_m, std::int64_t /*expected_m*/, std::int64_t gran_m,
            std::int64_t gran_n, std::int64_t gran_k_a, std::int64_t gran_k_b,
            bool /*disable_ue8m0_cast*/, std::optional<double> alpha) {
  return run(call, {kOp.text, Grouping::Counts, false, true}, a, a_scale, b, b_scale, d, masked_m,
             {gran_m, gran_n, gran_k_a, gran_k_b}, alpha);
}

#define DG_M_GROUPED(NAME, FUNCTION) DG_OPERATOR(NAME, &FUNCTION<NAME>)

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
