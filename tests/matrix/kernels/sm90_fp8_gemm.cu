// The tile of the seed's dense workload, as the source layer would write it.
#include <deep_gemm/sm90/fp8_gemm.cuh>

namespace {
constexpr deep_gemm::TileConfig kTile{.block_m = 128,
                                      .block_n = 128,
                                      .stages = 5,
                                      .products = 2,
                                      .cluster = 2,
                                      .share = deep_gemm::Share::B};
}

extern "C" __global__ void __launch_bounds__(deep_gemm::sm90::Fp8Derived<kTile>::kThreads, 1)
    sm90_fp8_gemm(const __grid_constant__ deep_gemm::GemmParams params) {
  extern __shared__ __align__(1024) deep_gemm::u8 shared[];
  deep_gemm::sm90::fp8_gemm<kTile>(params, shared);
}
