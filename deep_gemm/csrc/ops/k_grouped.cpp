// GEMMs grouped along k. check -> plan -> launch; holds no numbers of its own.
#include <torch/csrc/stable/library.h>

#include <deep_gemm/csrc/ops/grouped_check.hpp>
#include <deep_gemm/csrc/ops/grouped_run.hpp>
#include <deep_gemm/csrc/ops/op_name.hpp>
#include <deep_gemm/csrc/utils/registry.hpp>

namespace deep_gemm::ops {
namespace {

void run(std::string_view op, const GroupedTensors& t, const std::optional<Tensor>& ks,
         std::int64_t gran_k, bool use_ends, std::optional<double> alpha) {
  const Sizes sizes = sizes_of(ks);
  const GroupedProblem problem =
      check_k_grouped({.op = op,
                       .storage = k_storage_of(op),
                       .is_scaled = t.a_scale != nullptr,
                       .a = facts_of(t.a),
                       .a_scale = t.a_scale == nullptr ? TensorFacts() : facts_of(*t.a_scale),
                       .b = facts_of(t.b),
                       .b_scale = t.b_scale == nullptr ? TensorFacts() : facts_of(*t.b_scale),
                       .d = facts_of(t.d),
                       .layout = facts_of(t.layout),
                       .c = t.c == nullptr ? std::nullopt : std::optional(facts_of(*t.c)),
                       .gran_k = gran_k,
                       .alignment = group_alignment(),
                       .use_ends = use_ends,
                       .ks = sizes,
                       .has_alpha = alpha.has_value()});
  run_grouped(op, problem, t, sizes, alpha);
}

template <OpName kOp>
void scaled(Tensor a, Tensor a_scale, Tensor b, Tensor b_scale, Tensor d, Tensor grouped_layout,
            std::optional<Tensor> ks, std::optional<Tensor> c, std::int64_t gran_k,
            bool use_psum_layout, std::optional<double> alpha) {
  run(kOp.text, {a, &a_scale, b, &b_scale, d, c ? &*c : nullptr, grouped_layout}, ks, gran_k,
      use_psum_layout, alpha);
}

void bf16(Tensor a, Tensor b, Tensor d, Tensor grouped_layout, std::optional<Tensor> ks,
          std::optional<Tensor> c, bool use_psum_layout, std::optional<double> alpha) {
  run("k_grouped_bf16_gemm_tn_contiguous",
      {a, nullptr, b, nullptr, d, c ? &*c : nullptr, grouped_layout}, ks, 0, use_psum_layout,
      alpha);
}

#define DG_K_GROUPED(NAME) DG_REGISTER_OP(NAME, TORCH_BOX(&scaled<NAME>))

DG_K_GROUPED("k_grouped_fp8_gemm_nt_contiguous");
DG_K_GROUPED("k_grouped_fp8_gemm_tn_contiguous");
DG_K_GROUPED("k_grouped_fp4_gemm_nt_contiguous");
DG_REGISTER_OP("k_grouped_bf16_gemm_tn_contiguous", TORCH_BOX(&bf16));

}  // namespace
}  // namespace deep_gemm::ops
