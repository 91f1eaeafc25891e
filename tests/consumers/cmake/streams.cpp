// Built against torch's headers with the version and the macro that the package sets.
#include <deep_jit/backend/cuda/stable_torch_utils.h>

#ifndef USE_CUDA
#error "the package defines USE_CUDA"
#endif

extern "C" void* consumer_current_stream(int device) {
  return deep_jit::get_current_cuda_stream(device);
}
