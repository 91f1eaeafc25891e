// GEMMs grouped along k. check -> plan -> launch; holds no numbers of its own.
#include <deep_gemm/csrc/ops/grouped_check.hpp>
#include <deep_gemm/csrc/ops/grouped_run.hpp>
#include <deep_gemm/csrc/ops/op_name.hpp>

namespace deep_gemm::ops {
namespace {

bool run(Call& call, std::string_view op, const GroupedArgs& t, const std::optional<Arg>& ks,
         std::int64_t gran_k, bool use_ends, std::optional<double> alpha) {
  const KGroupedFacts facts{.op = op,
                            .storage = k_storage_of(op),
                            .is_scaled = t.a_scale != nullptr,
                            .a = t.a.facts,
                            .a_scale = t.a_scale == nullptr ? TensorFacts() : t.a_scale->facts,
                            .b = t.b.facts,
                            .b_scale = t.b_scale == nullptr ? TensorFacts() : t.b_scale->facts,
                            .d = t.d.facts,
                            .layout = t.layout.facts,
                            .c = t.c == nullptr ? std::nullopt : std::optional(t.c->facts),
                            .gran_k = gran_k,
                            .alignment = group_alignment(),
                            .use_ends = use_ends,
                            .ks = sizes_of(facts_of(ks)),
                            .has_alpha = alpha.has_value()};
  return run_grouped(call, op, check_k_grouped(facts), t, &facts.ks, alpha);
}

template <OpName kOp>
bool scaled(Call& call, const Arg& a, const Arg& a_scale, const Arg& b, const Arg& b_scale,
            const Arg& d, const Arg& grouped_layout, const std::optional<Arg>& ks,
            const std::optional<Arg>& c, std::int64_t gran_k, bool use_psum_layout,
            std::optional<double> alpha) {
  return run(call, kOp.text,
             {.a = a,
              .a_scale = &a_scale,
              .b = b,
              .b_scale = &b_scale,
              .d = d,
              .c = c ? &*c : nullptr,
              .layout = grouped_layout},
             ks, gran_k, use_psum_layout, alpha);
}

bool bf16(Call& call, const Arg& a, const Arg& b, const Arg& d, const Arg& grouped_layout,
          const std::optional<Arg>& ks, const std::optional<Arg>& c, bool use_psum_layout,
          std::optional<double> alpha) {
  return run(call, "k_grouped_bf16_gemm_tn_contiguous",
             {.a = a, .b = b, .d = d, .c = c ? &*c : nullptr, .layout = grouped_layout}, ks, 0,
             use_psum_layout, alpha);
}

#define DG_K_GROUPED(NAME) DG_OPERATOR(NAME, &scaled<NAME>)

DG_K_GROUPED("k_grouped_fp8_gemm_nt_contiguous");
DG_K_GROUPED("k_grouped_fp8_gemm_tn_contiguous");
DG_K_GROUPED("k_grouped_fp4_gemm_nt_contiguous");
DG_OPERATOR("k_grouped_bf16_gemm_tn_contiguous", &bf16);

}  // namespace
}  // namespace deep_gemm::ops
