#include <deep_gemm/sm90/fp8_gemm.cuh>

using namespace deep_gemm;

constexpr TileConfig kTile{
    .block_m = 128,
    .block_n = 128,
    .block_k = 128,
    .stages = 5,
    .math_warpgroups = 2,
    .n_parts = 1,
    .products = 2,
    .store_slots = 2,
    .cluster = 2,
    .share = Share::B,
    .groups = Groups::Dense,
    .type = ElementType::E4m3,
    .a_major = Major::K,
    .b_major = Major::K,
    .b_scale_rows = 128,
    .d_type = OutputType::Bf16,
    .add_to = AddTo::Nothing,
};

static_assert(sizeof(sm90::Fp8Smem<kTile>) == 199680, "the plan counts shared memory as it is");
static_assert(sm90::Fp8Derived<kTile>::kThreads == 384);

extern "C" __global__ void __launch_bounds__(384, 1)
    sm90_fp8_gemm(const __grid_constant__ GemmParams params) {
  extern __shared__ __align__(1024) u8 shared[];
  sm90::fp8_gemm<kTile>(params, shared);
}
