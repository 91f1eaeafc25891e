// The configuration of the seed's hyper-connection workload.
#include <deep_gemm/sm90/tf32_hc_prenorm_gemm.cuh>

namespace {
constexpr deep_gemm::HcConfig kConfig{.n = 24, .math_warpgroups = 1};
}

extern "C" __global__ void __launch_bounds__(deep_gemm::sm90::HcDerived<kConfig>::kThreads, 1)
    sm90_tf32_hc_prenorm_gemm(const __grid_constant__ deep_gemm::HcParams params) {
  extern __shared__ __align__(1024) deep_gemm::u8 shared[];
  deep_gemm::sm90::tf32_hc_prenorm_gemm<kConfig>(params, shared);
}
