// Batched products in einsum notation. check -> plan -> a launch a batch; holds no numbers of its
// own.
#include <vector>

#include <torch/csrc/stable/stableivalue_conversions.h>

#include <deep_gemm/csrc/ops/einsum_check.hpp>
#include <deep_gemm/csrc/ops/gemm_run.hpp>
#include <deep_gemm/csrc/ops/reference_call.hpp>
#include <deep_gemm/csrc/utils/state.hpp>

namespace deep_gemm::ops {
namespace {

using torch::stable::detail::from;

template <class T>
T* at_batch(std::uint64_t address, std::int64_t step, std::int64_t i) {
  return address == 0 ? nullptr
                      : reinterpret_cast<T*>(address + static_cast<std::uint64_t>(step * i));
}

// False: there is nothing to launch, and nothing was launched.
bool launch_batches(const EinsumFacts& f, const BatchedGemm& g, const PreparedGemm* prepared,
                    const Placement& placement, const Knobs& knobs) {
  for (std::int64_t i = 0; i < g.batch; ++i) {
    GemmAddresses at;
    at.a = at_batch<const void>(f.a.address, g.step.a, i);
    at.b = at_batch<const void>(f.b.address, g.step.b, i);
    at.a_scale = at_batch<const void>(f.a_scale.address, g.step.a_scale, i);
    at.b_scale = at_batch<const void>(f.b_scale.address, g.step.b_scale, i);
    at.d = at_batch<void>(f.d.address, g.step.d, i);
    at.c = f.c ? at_batch<const void>(f.c->address, g.step.c, i) : nullptr;
    if (!(prepared == nullptr ? launch_gemm(f.op, g.problem, placement, knobs, at)
                              : prepared->launch(at)))
      return false;
  }
  return true;
}

// False: the reference has to, or whoever called warm.
bool run(Call& call, const EinsumFacts& facts, const BatchedGemm& batched, const Arg& d,
         const std::optional<Arg>& c) {
  if (batched.is_empty() || is_trivial(batched.problem)) {
    if (!call.is_warm() && !batched.is_empty())
      finish_trivial(batched.problem, d.tensor, tensor_of(c));
    return !call.is_warm();
  }
  const Knobs knobs = current_knobs();
  const Placement placement = placement_of(facts.a, knobs);
  if (!call.is_warm()) return launch_batches(facts, batched, nullptr, placement, knobs);
  const auto prepared = find_prepared<GemmAddresses>(batched.problem, placement, knobs);
  if (prepared == nullptr) return false;
  call.launching();
  return launch_batches(facts, batched, prepared.get(), placement, knobs);
}

std::optional<Tensor> optional_of(const std::optional<Arg>& arg) {
  return arg ? std::optional<Tensor>(*arg->tensor) : std::nullopt;
}

bool einsum(Call& call, std::string_view expr, const Arg& a, const Arg& b, const Arg& d,
            const std::optional<Arg>& c) {
  const EinsumFacts facts{"einsum", std::string(expr), a.facts,     {}, b.facts,
                          {},       d.facts,           facts_of(c), {}};
  if (run(call, facts, check_bf16_einsum(facts), d, c)) return true;
  if (call.is_warm()) return false;
  std::vector<StableIValue> stack = {from(facts.expr), from(*a.tensor), from(*b.tensor),
                                     from(*d.tensor), from(optional_of(c))};
  call_reference_operator("einsum", "_reference_einsum", stack);
  return true;
}

bool fp8_einsum(Call& call, std::string_view expr, const Arg& a, const Arg& a_scale, const Arg& b,
                const Arg& b_scale, const Arg& d, const std::optional<Arg>& c, std::int64_t gran_m,
                std::int64_t gran_n, std::int64_t gran_k) {
  const EinsumFacts facts{"fp8_einsum",  std::string(expr), a.facts,
                          a_scale.facts, b.facts,           b_scale.facts,
                          d.facts,       facts_of(c),       {gran_m, gran_n, gran_k, gran_k}};
  if (run(call, facts, check_fp8_einsum(facts), d, c)) return true;
  if (call.is_warm()) return false;
  std::vector<StableIValue> stack = {
      from(facts.expr),      from(*a.tensor), from(*a_scale.tensor), from(*b.tensor),
      from(*b_scale.tensor), from(*d.tensor), from(optional_of(c)),  from(gran_m),
      from(gran_n),          from(gran_k)};
  call_reference_operator("fp8_einsum", "_reference_fp8_einsum", stack);
  return true;
}

DG_OPERATOR("einsum", &einsum);
DG_OPERATOR("fp8_einsum", &fp8_einsum);

}  // namespace
}  // namespace deep_gemm::ops
