#include <deep_gemm/csrc/source/hc_source.hpp>

#include <deep_jit/utils/str.hpp>

namespace deep_gemm {
namespace {

namespace str = deep_jit::str;

// The names contain what profilers look for: tf32_hc_prenorm_gemm.
KernelSource text_of(const HostHcPlan& plan) {
  KernelSource source;
  source.name = "host_tf32_hc_prenorm_gemm";
  source.text = str::format(
      R"(#include <deep_gemm/host/hc.hpp>

using namespace deep_gemm;

extern "C" void {}(const DjHostBlock* block, void* const* args) {{
  host::hc<{}>(*block, *static_cast<const HcFlatParams*>(args[0]));
}}
)",
      source.name, plan.columns);
  // Why: a product and its sum are one rounding on every compiler, not on GCC alone.
  source.extra_flags = {"-ffp-contract=fast"};
  return source;
}

KernelSource text_of(const PortableHcPlan& plan) {
  const HcFlatConfig& c = plan.config;
  KernelSource source;
  source.name = "portable_tf32_hc_prenorm_gemm";
  source.text = str::format(
      R"(#include <deep_gemm/portable/hc.cuh>

using namespace deep_gemm;

constexpr HcFlatConfig kConfig{{
    .columns = {},
    .row_tiles = {},
    .warps_m = {},
    .warps_k = {},
    .depth = {},
    .chunk_k = {},
    .is_whole = {},
}};
static_assert(portable::HcDerived<kConfig>::kSmemBytes == {});

extern "C" __global__ void __launch_bounds__({}, 1)
    {}(const __grid_constant__ HcFlatParams params) {{
  extern __shared__ __align__(16) u8 shared[];
  portable::hc<kConfig>(params, shared);
}}
)",
      c.columns, c.row_tiles, c.warps_m, c.warps_k, c.depth, c.chunk_k,
      c.is_whole ? "true" : "false", plan.smem_bytes, plan.threads, source.name);
  return source;
}

KernelSource text_of(const Sm90HcPlan& plan) {
  const HcConfig& c = plan.config;
  KernelSource source;
  source.name = "sm90_tf32_hc_prenorm_gemm";
  source.text = str::format(
      R"(#include <deep_gemm/sm90/tf32_hc_prenorm_gemm.cuh>

using namespace deep_gemm;

constexpr HcConfig kConfig{{
    .n = {},
    .math_warpgroups = {},
    .a_stages = {},
    .b_slots = {},
    .converters = {},
    .raw_depth = {},
    .cluster = {},
    .b_at_once = {},
}};
static_assert(sizeof(sm90::HcSmem<kConfig>) == {});

extern "C" __global__ void __launch_bounds__({}, 1)
    {}(const __grid_constant__ HcParams params) {{
  extern __shared__ __align__(1024) u8 shared[];
  sm90::tf32_hc_prenorm_gemm<kConfig>(params, shared);
}}
)",
      c.n, c.math_warpgroups, c.a_stages, c.b_slots, c.converters, c.raw_depth, c.cluster,
      c.b_at_once ? "true" : "false", plan.smem_bytes, plan.threads, source.name);
  return source;
}

}  // namespace

KernelSource source_of(const HcPlan& plan) {
  return std::visit([](const auto& p) { return text_of(p); }, plan);
}

}  // namespace deep_gemm
