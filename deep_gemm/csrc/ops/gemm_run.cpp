#include <deep_gemm/csrc/ops/gemm_run.hpp>

#include <torch/csrc/stable/c/shim.h>

#include <deep_gemm/csrc/ops/reference_call.hpp>
#include <deep_gemm/csrc/utils/state.hpp>
#include <deep_jit/utils/exception.hpp>

namespace deep_gemm::ops {
namespace {

void require(AOTITorchError code, const char* what) {
  if (code != 0) DJ_PANIC("torch could not {} d", what);
}

GemmAddresses addresses_of(const GemmFacts& facts, std::optional<double> alpha) {
  GemmAddresses at;
  at.a = reinterpret_cast<const void*>(facts.a.address);
  at.b = reinterpret_cast<const void*>(facts.b.address);
  at.a_scale = reinterpret_cast<const void*>(facts.a_scale.address);
  at.b_scale = reinterpret_cast<const void*>(facts.b_scale.address);
  at.d = reinterpret_cast<void*>(facts.d.address);
  at.c = address_of(facts.c);
  at.alpha = static_cast<float>(alpha.value_or(1.0));
  return at;
}

}  // namespace

bool finish_if_trivial(const GemmProblem& p, const Tensor& d, const std::optional<Tensor>& c) {
  if (p.is_meta || p.m == 0 || p.n == 0) return true;
  if (p.k != 0) return false;
  if (p.accumulate == Accumulate::FromC)
    require(aoti_torch_copy_(d.get(), c->get(), 0), "copy c to");
  if (p.accumulate == Accumulate::None) require(aoti_torch_zero_(d.get()), "clear");
  return true;
}

void launch_or_refer(const GemmFacts& facts, const GemmProblem& problem, const GemmTensors& tensors,
                     std::optional<double> alpha) {
  const Knobs knobs = current_knobs();
  const GemmAddresses at = addresses_of(facts, alpha);
  if (launch_gemm(facts.op, problem, placement_of(facts.a, knobs), knobs, at)) return;
  call_reference(facts, problem, tensors, alpha.value_or(1.0));
}

bool launch_if_ready(const GemmFacts& facts, const GemmProblem& p, std::optional<double> alpha) {
  if (p.is_meta || p.m == 0 || p.n == 0 || p.k == 0) return false;
  const Knobs knobs = current_knobs();
  return launch_if_prepared(p, placement_of(facts.a, knobs), knobs, addresses_of(facts, alpha));
}

}  // namespace deep_gemm::ops
