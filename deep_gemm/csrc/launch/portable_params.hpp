// The parameters of the portable CUDA GEMM that stay the same from call to call.
//   PortableGemmParams params = portable_params(problem, plan);   // once, then groups
//   set_addresses(params, addresses);                             // each call
// For every family that launches that kernel. Leaves groups to callers.
#pragma once

#include <deep_gemm/abi/portable_gemm_params.h>
#include <deep_gemm/csrc/plan/gemm_plan.hpp>
#include <deep_gemm/csrc/problem/gemm_problem.hpp>

namespace deep_gemm {

PortableGemmParams portable_params(const GemmProblem& problem, const PortableGemmPlan& plan);

// What changes from call to call, groups aside.
template <class Addresses>
void set_addresses(PortableGemmParams& params, const Addresses& at) {
  params.a.data = at.a;
  params.b.data = at.b;
  params.a_scale.data = at.a_scale;
  params.b_scale.data = at.b_scale;
  params.d = at.d;
  params.c = at.c;
  params.alpha = at.alpha;
}

}  // namespace deep_gemm
