#include <deep_gemm/csrc/source/gate_source.hpp>

#include <deep_jit/utils/str.hpp>

namespace deep_gemm {
namespace {

// The names contain what profilers look for: bf16_mega_gate.
KernelSource text_of(const HostGatePlan&) {
  return {"host_bf16_mega_gate",
          R"(#include <deep_gemm/host/gate.hpp>

using namespace deep_gemm;

extern "C" void host_bf16_mega_gate(const DjHostBlock* block, void* const* args) {
  host::gate(*block, *static_cast<const GateParams*>(args[0]));
}
)",
          {}};
}

KernelSource text_of(const PortableGatePlan& plan) {
  return {"portable_bf16_mega_gate",
          deep_jit::str::format(
              R"(#include <deep_gemm/portable/gate.cuh>

using namespace deep_gemm;

constexpr GateConfig kConfig{{
    .per_lane = {},
}};

extern "C" __global__ void __launch_bounds__(kGateThreads)
    portable_bf16_mega_gate(const __grid_constant__ GateParams params) {{
  portable::gate<kConfig>(params);
}}
)",
              plan.config.per_lane),
          {}};
}

}  // namespace

KernelSource source_of(const GatePlan& plan) {
  return std::visit([](const auto& p) { return text_of(p); }, plan);
}

}  // namespace deep_gemm
