// A grouped GEMM plan as kernel text with named fields.
//   KernelSource source = source_of(plan);      // name "host_grouped_fp8_gemm"
// Decides nothing. Leaves compiling to launch/jit.
#pragma once

#include <deep_gemm/csrc/plan/grouped_plan.hpp>
#include <deep_gemm/csrc/source/kernel_source.hpp>

namespace deep_gemm {

KernelSource source_of(const GroupedPlan& plan);

}  // namespace deep_gemm
