// Batched products in einsum notation. check -> plan -> a launch a batch; holds no numbers of its
// own.
#include <vector>

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/stableivalue_conversions.h>

#include <deep_gemm/csrc/launch/gemm_launch.hpp>
#include <deep_gemm/csrc/ops/args.hpp>
#include <deep_gemm/csrc/ops/einsum_check.hpp>
#include <deep_gemm/csrc/ops/gemm_run.hpp>
#include <deep_gemm/csrc/ops/reference_call.hpp>
#include <deep_gemm/csrc/utils/registry.hpp>
#include <deep_gemm/csrc/utils/state.hpp>

namespace deep_gemm::ops {
namespace {

using torch::stable::detail::from;

template <class T>
T* at_batch(std::uint64_t address, std::int64_t step, std::int64_t i) {
  return address == 0 ? nullptr
                      : reinterpret_cast<T*>(address + static_cast<std::uint64_t>(step * i));
}

// False: there is no compiler, and nothing was launched.
bool launch_batches(const EinsumFacts& f, const BatchedGemm& g) {
  const Knobs knobs = current_knobs();
  const Placement placement = placement_of(f.a, knobs);
  for (std::int64_t i = 0; i < g.batch; ++i) {
    GemmAddresses at;
    at.a = at_batch<const void>(f.a.address, g.step.a, i);
    at.b = at_batch<const void>(f.b.address, g.step.b, i);
    at.a_scale = at_batch<const void>(f.a_scale.address, g.step.a_scale, i);
    at.b_scale = at_batch<const void>(f.b_scale.address, g.step.b_scale, i);
    at.d = at_batch<void>(f.d.address, g.step.d, i);
    at.c = f.c ? at_batch<const void>(f.c->address, g.step.c, i) : nullptr;
    if (!launch_gemm(f.op, g.problem, placement, knobs, at)) return false;
  }
  return true;
}

void einsum(std::string expr, Tensor a, Tensor b, Tensor d, std::optional<Tensor> c) {
  const EinsumFacts facts{"einsum", expr,        facts_of(a), {}, facts_of(b),
                          {},       facts_of(d), facts_of(c), {}};
  const BatchedGemm batched = check_bf16_einsum(facts);
  if (batched.is_empty() || finish_if_trivial(batched.problem, d, c)) return;
  if (launch_batches(facts, batched)) return;
  std::vector<StableIValue> stack = {from(expr), from(a), from(b), from(d), from(c)};
  call_reference_operator("einsum", "_reference_einsum", stack);
}

void fp8_einsum(std::string expr, Tensor a, Tensor a_scale, Tensor b, Tensor b_scale, Tensor d,
                std::optional<Tensor> c, std::int64_t gran_m, std::int64_t gran_n,
                std::int64_t gran_k) {
  const EinsumFacts facts{"fp8_einsum",      expr,        facts_of(a),
                          facts_of(a_scale), facts_of(b), facts_of(b_scale),
                          facts_of(d),       facts_of(c), {gran_m, gran_n, gran_k, gran_k}};
  const BatchedGemm batched = check_fp8_einsum(facts);
  if (batched.is_empty() || finish_if_trivial(batched.problem, d, c)) return;
  if (launch_batches(facts, batched)) return;
  std::vector<StableIValue> stack = {from(expr),    from(a),     from(a_scale), from(b),
                                     from(b_scale), from(d),     from(c),       from(gran_m),
                                     from(gran_n),  from(gran_k)};
  call_reference_operator("fp8_einsum", "_reference_fp8_einsum", stack);
}

DG_REGISTER_OP("einsum", TORCH_BOX(&einsum));
DG_REGISTER_OP("fp8_einsum", TORCH_BOX(&fp8_einsum));

}  // namespace
}  // namespace deep_gemm::ops
