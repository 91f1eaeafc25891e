// The consumer's header on a real torch: current stream, pool and guard, as exported functions.
#include <deep_jit/backend/cuda/stable_torch_utils.h>

#define DJT_EXPORT extern "C" __attribute__((visibility("default")))

DJT_EXPORT void* djt_current_stream(int device) {
  return deep_jit::get_current_cuda_stream(device);
}

DJT_EXPORT void* djt_pool_stream(int device) { return deep_jit::get_stream_from_pool(device); }

// Torch's current stream while `stream` is guarded.
DJT_EXPORT void* djt_guarded_stream(void* stream, int device) {
  const deep_jit::TorchCUDAStreamGuard guard(static_cast<cudaStream_t>(stream), device);
  return deep_jit::get_current_cuda_stream(device);
}
