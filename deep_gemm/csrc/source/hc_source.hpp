// A hyper-connection plan as kernel text with named fields.
//   KernelSource source = source_of(plan);      // name "sm90_tf32_hc_prenorm_gemm"
// Decides nothing. Leaves compiling to launch/jit.
#pragma once

#include <deep_gemm/csrc/plan/hc_plan.hpp>
#include <deep_gemm/csrc/source/kernel_source.hpp>

namespace deep_gemm {

KernelSource source_of(const HcPlan& plan);

}  // namespace deep_gemm
