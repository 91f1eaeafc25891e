#include <deep_gemm/csrc/source/gemm_source.hpp>

#include <deep_gemm/csrc/plan/gemm_plan_cuda.hpp>
#include <deep_jit/utils/str.hpp>

namespace deep_gemm {
namespace {

const char* text_of(ElementType type) {
  constexpr const char* kNames[] = {"ElementType::E4m3", "ElementType::E2m1", "ElementType::Bf16"};
  return kNames[static_cast<int>(type)];
}

const char* text_of(Major major) { return major == Major::K ? "Major::K" : "Major::Mn"; }

// Contains what profilers look for: fp8_gemm, bf16_gemm.
const char* name_of(const HostGemmConfig& c) {
  if (c.a == ElementType::Bf16) return "host_bf16_gemm";
  const bool has_fp8 = c.a == ElementType::E4m3 || c.b == ElementType::E4m3;
  const bool has_fp4 = c.a == ElementType::E2m1 || c.b == ElementType::E2m1;
  return has_fp8 && has_fp4 ? "host_fp8_fp4_gemm" : has_fp8 ? "host_fp8_gemm" : "host_fp4_gemm";
}

}  // namespace

KernelSource source_of(const HostGemmConfig& c) {
  KernelSource source;
  source.name = name_of(c);
  source.text = deep_jit::str::format(
      R"(#include <deep_gemm/host/gemm.hpp>

using namespace deep_gemm;

constexpr HostGemmConfig kConfig{{
    .a = {},
    .b = {},
    .a_major = {},
    .b_major = {},
    .block_k = {},
    .rows = {},
    .vectors = {},
    .vector_bytes = {},
}};

extern "C" void {}(const DjHostBlock* block, void* const* args) {{
  host::gemm<kConfig>(*block, *static_cast<const HostGemmParams*>(args[0]));
}}
)",
      text_of(c.a), text_of(c.b), text_of(c.a_major), text_of(c.b_major), c.block_k, c.rows,
      c.vectors, c.vector_bytes, source.name);
  // Why: a product and its sum are one rounding on every compiler, not on GCC alone.
  source.extra_flags = {"-ffp-contract=fast"};
  return source;
}

KernelSource source_of(const GemmPlan& plan) {
  if (const auto* host = std::get_if<HostGemmPlan>(&plan)) return source_of(host->config);
  if (const auto* tuned = std::get_if<Sm90GemmPlan>(&plan)) return sm90_source(tuned->tile);
  return portable_source(std::get<PortableGemmPlan>(plan).config);
}

std::vector<KernelSource> reachable_sources(const GemmProblem& problem,
                                            const DeviceTraits& traits) {
  std::vector<KernelSource> sources;
  if (traits.is_cuda()) {
    for (const GemmPlan& plan : plan::reachable_cuda_plans(problem, traits))
      sources.push_back(source_of(plan));
  } else {
    for (const HostGemmConfig& config : reachable_host_configs(problem, traits))
      sources.push_back(source_of(config));
  }
  return sources;
}

}  // namespace deep_gemm
