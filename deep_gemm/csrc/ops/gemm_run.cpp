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

bool is_trivial(const GemmProblem& p) { return p.is_meta || p.m == 0 || p.n == 0 || p.k == 0; }

void finish_trivial(const GemmProblem& p, const Tensor* d, const Tensor* c) {
  if (p.is_meta || p.m == 0 || p.n == 0) return;
  if (p.accumulate == Accumulate::FromC)
    require(aoti_torch_copy_(d->get(), c->get(), 0), "copy c to");
  if (p.accumulate == Accumulate::None) require(aoti_torch_zero_(d->get()), "clear");
}

bool run_gemm(Call& call, const GemmFacts& facts, const GemmProblem& problem,
              const GemmTensors& tensors, std::optional<double> alpha) {
  if (is_trivial(problem)) {
    if (!call.is_warm()) finish_trivial(problem, tensors.d, tensors.c);
    return !call.is_warm();
  }
  const Knobs knobs = current_knobs();
  const Placement placement = placement_of(facts.a, knobs);
  const GemmAddresses at = addresses_of(facts, alpha);
  if (call.is_warm()) return launch_warm(call, problem, placement, knobs, at);
  if (!launch_gemm(facts.op, problem, placement, knobs, at))
    call_reference(facts, problem, tensors, alpha.value_or(1.0));
  return true;
}

}  // namespace deep_gemm::ops
