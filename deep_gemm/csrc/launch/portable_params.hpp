// The parameters of the portable CUDA GEMM that stay the same from call to call.
//   PortableGemmParams params = portable_params(problem, plan);   // then groups, then addresses
// For every family that launches that kernel. Leaves addresses and groups to callers.
#pragma once

#include <deep_gemm/abi/portable_gemm_params.h>
#include <deep_gemm/csrc/plan/gemm_plan.hpp>
#include <deep_gemm/csrc/problem/gemm_problem.hpp>

namespace deep_gemm {

PortableGemmParams portable_params(const GemmProblem& problem, const PortableGemmPlan& plan);

}  // namespace deep_gemm
