// The configuration of the seed's logits workload.
#include <deep_gemm/sm90/fp8_mqa_logits.cuh>

namespace {
constexpr deep_gemm::MqaConfig kConfig{.heads = 32, .head_dim = 128, .math_warpgroups = 3};
}

extern "C" __global__ void __launch_bounds__(deep_gemm::sm90::MqaDerived<kConfig>::kThreads, 1)
    sm90_fp8_mqa_logits(const __grid_constant__ deep_gemm::MqaParams params) {
  extern __shared__ __align__(1024) deep_gemm::u8 shared[];
  deep_gemm::sm90::fp8_mqa_logits<kConfig>(params, shared);
}
