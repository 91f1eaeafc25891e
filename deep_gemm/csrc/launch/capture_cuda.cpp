#include <deep_jit/backend/cuda/torch_stream.hpp>

#include <deep_gemm/csrc/launch/capture.hpp>

namespace deep_gemm {

bool is_capturing(const Placement& placement) {
  if (placement.kind != DeviceTraits::Kind::Cuda) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUstream stream = deep_jit::cuda::current_torch_stream(placement.index);
  return deep_jit::cuda::driver::lazy_cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace deep_gemm
