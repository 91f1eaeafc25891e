// Hyper-connection product and square sums. check -> plan -> launch; holds no numbers of its own.
#include <vector>

#include <torch/csrc/stable/stableivalue_conversions.h>

#include <deep_gemm/csrc/launch/hc_launch.hpp>
#include <deep_gemm/csrc/ops/hc_check.hpp>
#include <deep_gemm/csrc/ops/operator.hpp>
#include <deep_gemm/csrc/ops/reference_call.hpp>
#include <deep_gemm/csrc/utils/state.hpp>

namespace deep_gemm::ops {
namespace {

using torch::stable::detail::from;

bool tf32_hc_prenorm_gemm(Call& call, const Arg& a, const Arg& b, const Arg& d, const Arg& sqr_sum,
                          std::optional<std::int64_t> num_splits) {
  const HcProblem problem = check_hc({a.facts, b.facts, d.facts, sqr_sum.facts, num_splits});
  if (problem.is_meta || problem.m == 0) return !call.is_warm();
  const Knobs knobs = current_knobs();
  const Placement placement = placement_of(a.facts, knobs);
  const HcAddresses at{reinterpret_cast<const void*>(a.facts.address),
                       reinterpret_cast<const float*>(b.facts.address),
                       reinterpret_cast<float*>(d.facts.address),
                       reinterpret_cast<float*>(sqr_sum.facts.address)};
  if (call.is_warm()) return launch_warm(call, problem, placement, knobs, at);
  if (launch_hc(problem, placement, knobs, at)) return true;
  std::vector<StableIValue> stack = {from(*a.tensor), from(*b.tensor), from(*d.tensor),
                                     from(*sqr_sum.tensor), from(num_splits)};
  call_reference_operator("tf32_hc_prenorm_gemm", "_reference_tf32_hc_prenorm_gemm", stack);
  return true;
}

DG_OPERATOR("tf32_hc_prenorm_gemm", &tf32_hc_prenorm_gemm);

}  // namespace
}  // namespace deep_gemm::ops
