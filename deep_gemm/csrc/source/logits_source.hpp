// A plan of indexer logits, or what is computed ahead of them, as kernel text with named fields.
//   KernelSource source = source_of(plan);      // name "host_fp8_mqa_logits"
// Decides nothing. Leaves compiling to launch/.
#pragma once

#include <deep_gemm/csrc/plan/logits_plan.hpp>
#include <deep_gemm/csrc/source/kernel_source.hpp>

namespace deep_gemm {

KernelSource source_of(const HostLogitsPlan& plan);
KernelSource source_of(const PortableLogitsPlan& plan);
KernelSource source_of(const Sm90LogitsPlan& plan);
KernelSource source_of(const Sm90PagedLogitsPlan& plan);
KernelSource source_of(const LogitsPlan& plan);

KernelSource host_logits_schedule_source();
KernelSource portable_logits_schedule_source();

KernelSource host_sparse_schedule_source();
KernelSource portable_sparse_schedule_source();

}  // namespace deep_gemm
