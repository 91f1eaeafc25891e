// The tile of the seed's grouped workload.
#include <deep_gemm/sm90/fp8_gemm.cuh>

namespace {
constexpr deep_gemm::TileConfig kTile{.block_m = 128,
                                      .block_n = 192,
                                      .stages = 4,
                                      .n_parts = 2,
                                      .products = 2,
                                      .store_slots = 3,
                                      .groups = deep_gemm::Groups::ContiguousIndex};
}

extern "C" __global__ void __launch_bounds__(deep_gemm::sm90::Fp8Derived<kTile>::kThreads, 1)
    sm90_fp8_gemm_grouped(const __grid_constant__ deep_gemm::GemmParams params) {
  extern __shared__ __align__(1024) deep_gemm::u8 shared[];
  deep_gemm::sm90::fp8_gemm<kTile>(params, shared);
}
