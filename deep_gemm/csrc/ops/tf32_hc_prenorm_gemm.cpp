// Hyper-connection product and square sums. check -> plan -> launch; holds no numbers of its own.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/stableivalue_conversions.h>

#include <deep_gemm/csrc/launch/hc_launch.hpp>
#include <deep_gemm/csrc/ops/args.hpp>
#include <deep_gemm/csrc/ops/hc_check.hpp>
#include <deep_gemm/csrc/ops/reference_call.hpp>
#include <deep_gemm/csrc/utils/registry.hpp>
#include <deep_gemm/csrc/utils/state.hpp>

namespace deep_gemm::ops {
namespace {

using torch::stable::detail::from;

void tf32_hc_prenorm_gemm(Tensor a, Tensor b, Tensor d, Tensor sqr_sum,
                          std::optional<std::int64_t> num_splits) {
  const HcFacts facts{facts_of(a), facts_of(b), facts_of(d), facts_of(sqr_sum), num_splits};
  const HcProblem problem = check_hc(facts);
  if (problem.is_meta || problem.m == 0) return;
  const Knobs knobs = current_knobs();
  const HcAddresses at{reinterpret_cast<const void*>(facts.a.address),
                       reinterpret_cast<const float*>(facts.b.address),
                       reinterpret_cast<float*>(facts.d.address),
                       reinterpret_cast<float*>(facts.sqr_sum.address)};
  if (launch_hc(problem, placement_of(facts.a, knobs), knobs, at)) return;
  std::vector<StableIValue> stack = {from(a), from(b), from(d), from(sqr_sum), from(num_splits)};
  call_reference_operator("tf32_hc_prenorm_gemm", "_reference_tf32_hc_prenorm_gemm", stack);
}

DG_REGISTER_OP("tf32_hc_prenorm_gemm", TORCH_BOX(&tf32_hc_prenorm_gemm));

}  // namespace
}  // namespace deep_gemm::ops
