#include <deep_gemm/sm90/tf32_hc_prenorm_gemm.cuh>

using namespace deep_gemm;

constexpr HcConfig kConfig{
    .n = 24,
    .math_warpgroups = 2,
    .a_stages = 8,
    .b_slots = 8,
    .converters = 7,
    .raw_depth = 1,
    .cluster = 1,
    .b_at_once = false,
};
static_assert(sizeof(sm90::HcSmem<kConfig>) == 1);

extern "C" __global__ void __launch_bounds__(512, 1)
    sm90_tf32_hc_prenorm_gemm(const __grid_constant__ HcParams params) {
  extern __shared__ __align__(1024) u8 shared[];
  sm90::tf32_hc_prenorm_gemm<kConfig>(params, shared);
}
