// A GEMM plan as kernel text with named fields.
//   KernelSource source = source_of(plan);      // name "host_fp8_gemm"
// Decides nothing. Leaves compiling to launch/jit.
#pragma once

#include <deep_gemm/csrc/plan/gemm_plan.hpp>
#include <deep_gemm/csrc/source/kernel_source.hpp>

namespace deep_gemm {

KernelSource source_of(const HostGemmConfig& config);
KernelSource source_of(const GemmPlan& plan);

}  // namespace deep_gemm
