#include <deep_gemm/host/hc.hpp>

using namespace deep_gemm;

extern "C" void host_tf32_hc_prenorm_gemm(const DjHostBlock* block, void* const* args) {
  host::hc<24>(*block, *static_cast<const HcFlatParams*>(args[0]));
}
