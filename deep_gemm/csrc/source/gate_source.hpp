// A plan of bf16_mega_gate's selection as kernel text with named fields.
//   KernelSource source = source_of(plan);      // name "portable_bf16_mega_gate"
// Decides nothing. Leaves compiling to launch/.
#pragma once

#include <deep_gemm/csrc/plan/gate_plan.hpp>
#include <deep_gemm/csrc/source/kernel_source.hpp>

namespace deep_gemm {

KernelSource source_of(const GatePlan& plan);

}  // namespace deep_gemm
