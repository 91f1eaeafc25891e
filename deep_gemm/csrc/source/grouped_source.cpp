#include <deep_gemm/csrc/source/grouped_source.hpp>

#include <deep_gemm/csrc/source/gemm_source.hpp>
#include <deep_jit/utils/exception.hpp>

namespace deep_gemm {
namespace {

void replace(std::string& text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  DJ_HOST_ASSERT(at != std::string::npos, "{}", from);
  text.replace(at, from.size(), to);
}

// The dense kernel's configuration under the grouped kernel's body.
KernelSource host_source(const HostGemmConfig& config) {
  KernelSource source = source_of(config);
  const std::string dense = source.name;
  source.name = "host_grouped_" + dense.substr(std::string_view("host_").size());
  replace(source.text, "<deep_gemm/host/gemm.hpp>", "<deep_gemm/host/grouped_gemm.hpp>");
  replace(source.text, "void " + dense, "void " + source.name);
  replace(source.text, "host::gemm<kConfig>", "host::grouped_gemm<kConfig>");
  replace(source.text, "const HostGemmParams*", "const HostGroupedParams*");
  return source;
}

PortableSchedule schedule_of(const PortableGroupedPlan& plan) {
  constexpr const char *kAlongM = "portable_m_grouped.cuh", *kAlongK = "portable_k_grouped.cuh";
  switch (plan.grouping) {
    case Grouping::Labels:
      return {"m_grouped_", kAlongM, "PortableLabels"};
    case Grouping::Ends:
      return {"m_grouped_", kAlongM, "PortableEnds"};
    case Grouping::Counts:
      return {"m_grouped_masked_", kAlongM, "PortableCounts"};
    case Grouping::Sizes:
    case Grouping::KEnds:
      break;
  }
  return {"k_grouped_", kAlongK, plan.is_flat ? "PortableKFlat" : "PortableKGroups"};
}

}  // namespace

KernelSource source_of(const GroupedPlan& plan) {
  if (const auto* host = std::get_if<HostGroupedPlan>(&plan)) return host_source(host->gemm.config);
  if (const auto* tuned = std::get_if<Sm90GroupedPlan>(&plan)) return sm90_source(tuned->gemm.tile);
  const auto& portable = std::get<PortableGroupedPlan>(plan);
  return portable_source(portable.gemm.config, schedule_of(portable));
}

}  // namespace deep_gemm
