#include <deep_gemm/sm90/bf16_gemm.cuh>

using namespace deep_gemm;

constexpr TileConfig kTile{
    .block_m = 128,
    .block_n = 256,
    .block_k = 128,
    .stages = 4,
    .math_warpgroups = 2,
    .n_parts = 1,
    .products = 1,
    .store_slots = 2,
    .cluster = 1,
    .share = Share::None,
    .groups = Groups::Dense,
    .type = ElementType::Bf16,
    .a_major = Major::Mn,
    .b_major = Major::Mn,
    .b_scale_rows = 128,
    .d_type = OutputType::F32,
    .add_to = AddTo::D,
};

static_assert(sizeof(sm90::Bf16Smem<kTile>) == 230400, "the plan counts shared memory as it is");
static_assert(sm90::Bf16Derived<kTile>::kThreads == 384);

extern "C" __global__ void __launch_bounds__(384, 1)
    sm90_bf16_gemm(const __grid_constant__ GemmParams params) {
  extern __shared__ __align__(1024) u8 shared[];
  sm90::bf16_gemm<kTile>(params, shared);
}
