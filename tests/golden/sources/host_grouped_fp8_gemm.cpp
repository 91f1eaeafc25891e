#include <deep_gemm/host/grouped_gemm.hpp>

using namespace deep_gemm;

constexpr HostGemmConfig kConfig{
    .a = ElementType::E4m3,
    .b = ElementType::E4m3,
    .a_major = Major::K,
    .b_major = Major::K,
    .block_k = 128,
    .rows = 6,
    .vectors = 2,
    .vector_bytes = 32,
};

extern "C" void host_grouped_fp8_gemm(const DjHostBlock* block, void* const* args) {
  host::grouped_gemm<kConfig>(*block, *static_cast<const HostGroupedParams*>(args[0]));
}
