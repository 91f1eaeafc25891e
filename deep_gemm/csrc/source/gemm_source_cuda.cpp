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
std::string types_of(const PortableGemmConfig& c) {
  if (c.a == ElementType::Bf16) return "bf16";
  if (c.a != c.b) return "fp8_fp4";
  return c.a == ElementType::E4m3 ? "fp8" : "fp4";
}

}  // namespace

KernelSource portable_source(const PortableGemmConfig& c, const PortableSchedule& schedule) {
  KernelSource source;
  source.name = "portable_" + std::string(schedule.prefix) + types_of(c) + "_gemm";
  source.text = deep_jit::str::format(
      R"(#include <deep_gemm/portable/gemm.cuh>
#include <deep_gemm/sched/{}>

using namespace deep_gemm;

constexpr PortableGemmConfig kConfig{{
    .a = {},
    .b = {},
    .a_major = {},
    .b_major = {},
    .a_bytes = {},
    .b_bytes = {},
    .scale_k = {},
    .block_m = {},
    .block_n = {},
    .warps_m = {},
    .warps_n = {},
    .stages = {},
    .blocks_per_sm = {},
}};

static_assert(sizeof(portable::Smem<kConfig>) == {}, "the plan counts shared memory as it is");

extern "C" __global__ void __launch_bounds__({}, kConfig.blocks_per_sm)
    {}(const __grid_constant__ PortableGemmParams params) {{
  extern __shared__ __align__(128) u8 shared[];
  portable::gemm<kConfig, sched::{}<kConfig>>(params, shared);
}}
)",
      schedule.header, text_of(c.a), text_of(c.b), text_of(c.a_major), text_of(c.b_major),
      c.a_bytes, c.b_bytes, c.scale_k, c.block_m, c.block_n, c.warps_m, c.warps_n, c.stages,
      c.blocks_per_sm, plan::portable_smem_bytes(c), plan::portable_threads(c), source.name,
      schedule.type);
  return source;
}

KernelSource sm90_source(const TileConfig& t) {
  constexpr const char* kShares[] = {"Share::None", "Share::A", "Share::B"};
  constexpr const char* kGroups[] = {"Groups::Dense", "Groups::ContiguousIndex",
                                     "Groups::ContiguousEnds", "Groups::Masked",
                                     "Groups::KGrouped"};
  constexpr const char* kPrefixes[] = {"", "m_grouped_", "m_grouped_", "m_grouped_masked_",
                                       "k_grouped_"};
  constexpr const char* kAdds[] = {"AddTo::Nothing", "AddTo::D", "AddTo::C"};
  const bool is_bf16 = t.type == ElementType::Bf16;
  const char* stem = is_bf16 ? "bf16_gemm" : "fp8_gemm";
  const char* family = is_bf16 ? "Bf16" : "Fp8";
  KernelSource source;
  source.name = std::string("sm90_") + kPrefixes[static_cast<int>(t.groups)] + stem;
  source.text = deep_jit::str::format(
      R"(#include <deep_gemm/sm90/{}.cuh>

using namespace deep_gemm;

constexpr TileConfig kTile{{
    .block_m = {},
    .block_n = {},
    .block_k = {},
    .stages = {},
    .math_warpgroups = {},
    .n_parts = {},
    .products = {},
    .store_slots = {},
    .cluster = {},
    .share = {},
    .groups = {},
    .type = {},
    .a_major = {},
    .b_major = {},
    .b_scale_rows = {},
    .d_type = {},
    .add_to = {},
}};

static_assert(sizeof(sm90::{}Smem<kTile>) == {}, "the plan counts shared memory as it is");
static_assert(sm90::{}Derived<kTile>::kThreads == {});

extern "C" __global__ void __launch_bounds__({}, 1)
    {}(const __grid_constant__ GemmParams params) {{
  extern __shared__ __align__(1024) u8 shared[];
  sm90::{}<kTile>(params, shared);
}}
)",
      stem, t.block_m, t.block_n, t.block_k, t.stages, t.math_warpgroups, t.n_parts, t.products,
      t.store_slots, t.cluster, kShares[static_cast<int>(t.share)],
      kGroups[static_cast<int>(t.groups)], text_of(t.type), text_of(t.a_major), text_of(t.b_major),
      t.b_scale_rows, t.d_type == OutputType::F32 ? "OutputType::F32" : "OutputType::Bf16",
      kAdds[static_cast<int>(t.add_to)], family, plan::sm90_smem_bytes(t), family,
      plan::sm90_threads(t), plan::sm90_threads(t), source.name, stem);
  return source;
}

}  // namespace deep_gemm
