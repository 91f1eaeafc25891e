#include <deep_gemm/portable/hc.cuh>

using namespace deep_gemm;

constexpr HcFlatConfig kConfig{
    .columns = 24,
    .row_tiles = 2,
    .warps_m = 16,
    .warps_k = 1,
    .depth = 3,
    .chunk_k = 512,
    .is_whole = true,
};
static_assert(portable::HcDerived<kConfig>::kSmemBytes == 49152);

extern "C" __global__ void __launch_bounds__(512, 1)
    portable_tf32_hc_prenorm_gemm(const __grid_constant__ HcFlatParams params) {
  extern __shared__ __align__(16) u8 shared[];
  portable::hc<kConfig>(params, shared);
}
