#include <deep_gemm/portable/gemm.cuh>
#include <deep_gemm/sched/portable_m_grouped.cuh>

using namespace deep_gemm;

constexpr PortableGemmConfig kConfig{
    .a = ElementType::E4m3,
    .b = ElementType::E4m3,
    .a_major = Major::K,
    .b_major = Major::K,
    .a_bytes = 16,
    .b_bytes = 16,
    .scale_k = 128,
    .block_m = 128,
    .block_n = 128,
    .warps_m = 2,
    .warps_n = 4,
    .stages = 2,
    .blocks_per_sm = 1,
};

static_assert(sizeof(portable::Smem<kConfig>) == 67584, "the plan counts shared memory as it is");

extern "C" __global__ void __launch_bounds__(256, kConfig.blocks_per_sm)
    portable_m_grouped_fp8_gemm(const __grid_constant__ PortableGemmParams params) {
  extern __shared__ __align__(128) u8 shared[];
  portable::gemm<kConfig, sched::PortableLabels<kConfig>>(params, shared);
}
