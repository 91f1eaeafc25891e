// A GEMM plan as kernel text with named fields.
//   KernelSource source = source_of(plan);      // name "host_fp8_gemm", "sm90_fp8_gemm"
// Decides nothing. Leaves compiling to launch/jit.
#pragma once

#include <string_view>
#include <vector>

#include <deep_gemm/csrc/plan/gemm_plan.hpp>
#include <deep_gemm/csrc/source/kernel_source.hpp>

namespace deep_gemm {

KernelSource source_of(const HostGemmConfig& config);
KernelSource source_of(const GemmPlan& plan);

// Every kernel that plan_gemm can pick for these operands on this device, whatever m is.
std::vector<KernelSource> reachable_sources(const GemmProblem& problem, const DeviceTraits& traits);

// gemm_source_cuda.cpp, for every family that launches these kernels.

// Who hands out tiles: sched::<type><kConfig> of deep_gemm/sched/<header>.
struct PortableSchedule {
  std::string_view prefix = "";  // of the kernel's name, as in "m_grouped_"
  std::string_view header = "portable_tiles.cuh";
  std::string_view type = "PortableDense";
};

KernelSource portable_source(const PortableGemmConfig& config,
                             const PortableSchedule& schedule = {});
KernelSource sm90_source(const TileConfig& tile);

}  // namespace deep_gemm
