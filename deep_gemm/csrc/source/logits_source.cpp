#include <deep_gemm/csrc/source/logits_source.hpp>

#include <deep_jit/utils/str.hpp>

namespace deep_gemm {
namespace {

// Contains what profilers look for: mqa_logits.
std::string name_of(const char* prefix, const LogitsConfig& c) {
  return std::string(prefix) + (c.type == LogitsType::Fp4Mx ? "_fp4" : "_fp8") +
         (c.is_paged ? "_paged" : "") + (c.sparse_block != 0 ? "_sparse" : "") + "_mqa_logits";
}

std::string common_fields(const LogitsConfig& c) {
  constexpr const char* kTypes[] = {"LogitsType::Fp8", "LogitsType::Fp8Mx", "LogitsType::Fp4Mx"};
  std::string text = deep_jit::str::format(
      "    .type = {},\n    .is_paged = {},\n    .head_dim = {},\n",
      kTypes[static_cast<int>(c.type)], c.is_paged ? "true" : "false", c.head_dim);
  if (c.sparse_block != 0)
    text += deep_jit::str::format("    .sparse_block = {},\n", c.sparse_block);
  return text;
}

// Of the header and of the function in it.
const char* stem_of(const LogitsConfig& c) {
  return c.sparse_block != 0 ? "sparse_mqa_logits" : "mqa_logits";
}

}  // namespace

KernelSource source_of(const HostLogitsPlan& plan) {
  const LogitsConfig& c = plan.config;
  KernelSource source;
  source.name = name_of("host", c);
  source.text = deep_jit::str::format(
      R"(#include <deep_gemm/host/{}.hpp>

using namespace deep_gemm;

constexpr LogitsConfig kConfig{{
{}    .rows = {},
    .vectors = {},
    .vector_bytes = {},
}};

extern "C" void {}(const DjHostBlock* block, void* const* args) {{
  host::{}<kConfig>(*block, *static_cast<const LogitsParams*>(args[0]));
}}
)",
      stem_of(c), common_fields(c), c.rows, c.vectors, c.vector_bytes, source.name, stem_of(c));
  // Why: a product and its sum are one rounding on every compiler, not on GCC alone.
  source.extra_flags = {"-ffp-contract=fast"};
  return source;
}

KernelSource source_of(const PortableLogitsPlan& plan) {
  const LogitsConfig& c = plan.config;
  KernelSource source;
  source.name = name_of("portable", c);
  source.text = deep_jit::str::format(
      R"(#include <deep_gemm/portable/{}.cuh>

using namespace deep_gemm;

constexpr LogitsConfig kConfig{{
{}}};

extern "C" __global__ void __launch_bounds__({}, 2) {}(const __grid_constant__ LogitsParams params) {{
  extern __shared__ __align__(128) u8 shared[];
  portable::{}<kConfig>(params, shared);
}}
)",
      stem_of(c), common_fields(c), kPortableLogitsThreads, source.name, stem_of(c));
  return source;
}

KernelSource source_of(const Sm90LogitsPlan& plan) {
  const MqaConfig& c = plan.config;
  KernelSource source;
  source.name = "sm90_fp8_mqa_logits";
  source.text = deep_jit::str::format(
      R"(#include <deep_gemm/sm90/fp8_mqa_logits.cuh>

using namespace deep_gemm;

constexpr MqaConfig kConfig{{
    .heads = {},
    .head_dim = {},
    .math_warpgroups = {},
    .kv_stages = {},
    .bf16_logits = {},
}};
static_assert(sizeof(sm90::MqaSmem<kConfig>) <= {});

extern "C" __global__ void __launch_bounds__(sm90::MqaDerived<kConfig>::kThreads, 1)
    {}(const __grid_constant__ MqaParams params) {{
  extern __shared__ __align__(1024) u8 shared[];
  sm90::fp8_mqa_logits<kConfig>(params, shared);
}}
)",
      c.heads, c.head_dim, c.math_warpgroups, c.kv_stages, c.bf16_logits ? "true" : "false",
      plan.smem_bytes, source.name);
  return source;
}

KernelSource source_of(const Sm90PagedLogitsPlan& plan) {
  const PagedMqaConfig& c = plan.config;
  KernelSource source;
  source.name = "sm90_fp8_paged_mqa_logits";
  source.text = deep_jit::str::format(
      R"(#include <deep_gemm/sm90/fp8_paged_mqa_logits.cuh>

using namespace deep_gemm;

constexpr PagedMqaConfig kConfig{{
    .heads = {},
    .head_dim = {},
    .queries = {},
    .part_keys = {},
    .kv_stages = {},
    .bf16_logits = {},
}};
static_assert(sizeof(sm90::PagedMqaSmem<kConfig>) <= {});
static_assert(sm90::PagedMqaDerived<kConfig>::kThreads == {});

extern "C" __global__ void __launch_bounds__(sm90::PagedMqaDerived<kConfig>::kThreads, 1)
    {}(const __grid_constant__ PagedMqaParams params) {{
  extern __shared__ __align__(1024) u8 shared[];
  sm90::fp8_paged_mqa_logits<kConfig>(params, shared);
}}
)",
      c.heads, c.head_dim, c.queries, c.part_keys, c.kv_stages, c.bf16_logits ? "true" : "false",
      plan.smem_bytes, plan.num_threads, source.name);
  return source;
}

KernelSource source_of(const LogitsPlan& plan) {
  return std::visit([](const auto& p) { return source_of(p); }, plan);
}

KernelSource host_logits_schedule_source() {
  return {"host_paged_mqa_logits_metadata",
          R"(#include <deep_gemm/host/logits_schedule.hpp>

using namespace deep_gemm;

extern "C" void host_paged_mqa_logits_metadata(const DjHostBlock*, void* const* args) {
  host::logits_schedule(*static_cast<const LogitsScheduleParams*>(args[0]));
}
)",
          {}};
}

KernelSource portable_logits_schedule_source() {
  return {"portable_paged_mqa_logits_metadata",
          R"(#include <deep_gemm/portable/logits_schedule.cuh>

using namespace deep_gemm;

extern "C" __global__ void __launch_bounds__(kLogitsScheduleThreads)
    portable_paged_mqa_logits_metadata(const __grid_constant__ LogitsScheduleParams params) {
  portable::logits_schedule(params);
}
)",
          {}};
}

KernelSource host_sparse_schedule_source() {
  return {"host_sparse_mqa_logits_metadata",
          R"(#include <deep_gemm/host/sparse_schedule.hpp>

using namespace deep_gemm;

extern "C" void host_sparse_mqa_logits_metadata(const DjHostBlock* block, void* const* args) {
  host::sparse_schedule(*block, *static_cast<const SparseScheduleParams*>(args[0]));
}
)",
          {}};
}

KernelSource portable_sparse_schedule_source() {
  return {"portable_sparse_mqa_logits_metadata",
          R"(#include <deep_gemm/portable/sparse_schedule.cuh>

using namespace deep_gemm;

extern "C" __global__ void __launch_bounds__(kSparseThreads)
    portable_sparse_mqa_logits_metadata(const __grid_constant__ SparseScheduleParams params) {
  portable::sparse_schedule(params);
}
)",
          {}};
}

}  // namespace deep_gemm
