// The kernels of bf16_mega_gate: the product that makes the router logits, and the choice of
// experts.
#include <deep_gemm/abi/gate_params.h>
#include <deep_gemm/csrc/kernel_set.hpp>
#include <deep_gemm/csrc/plan/gate_plan.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_gemm/csrc/source/gate_source.hpp>

namespace deep_gemm {
namespace {

void add(const KernelWish& wish, const DeviceTraits& traits, const Knobs& knobs, Kernels& kernels) {
  KernelWish product = wish;
  product.op = "bf16_gemm_nt";
  product.d_types = {OutputType::F32};
  kernel_set_of(product.op).add(product, traits, knobs, kernels);
  std::vector<std::int64_t> experts = wish.n;
  if (wish.is_any_size())
    for (std::int64_t count = 1; count <= kMaxGateExperts; ++count) experts.push_back(count);
  for (const std::int64_t count : experts) {
    if (count > kMaxGateExperts) refuse(Rule::GateExperts, {wish.op, "n", std::to_string(count)});
    GateProblem p;
    p.rows = p.topk = 1;
    p.experts = static_cast<int>(count);
    kernels.add(source_of(plan_gate(p, traits)));
  }
}

const KernelSetRegistration registration({
    .ops = {"bf16_mega_gate"},
    .keys = {"n", "k"},
    .add = &add,
});

}  // namespace
}  // namespace deep_gemm
