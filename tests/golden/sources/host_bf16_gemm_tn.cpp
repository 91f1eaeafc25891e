#include <deep_gemm/host/gemm.hpp>

using namespace deep_gemm;

constexpr HostGemmConfig kConfig{
    .a = ElementType::Bf16,
    .b = ElementType::Bf16,
    .a_major = Major::Mn,
    .b_major = Major::Mn,
    .block_k = 256,
    .rows = 6,
    .vectors = 2,
    .vector_bytes = 32,
};

extern "C" void host_bf16_gemm(const DjHostBlock* block, void* const* args) {
  host::gemm<kConfig>(*block, *static_cast<const HostGemmParams*>(args[0]));
}
