// torch's CUDA streams through its stable C shims, for extensions that include torch themselves.
//
//   CUstream stream = deep_jit::get_current_cuda_stream(device_index);
//   cudaStream_t side = deep_jit::get_stream_from_pool(device_index);
//   { deep_jit::TorchCUDAStreamGuard guard(side, device_index);  ... }     // back afterwards
//
// Floor: torch 2.10. torch declares these shims only under USE_CUDA, so this header defines the
// macro around its own torch includes when the including file had not, and takes it away again.
// Hazard: a torch header included earlier without USE_CUDA has hidden the shims for good; include
// this one first, or compile with -DUSE_CUDA, as consumers should.
// No other header of the back end sees torch: kernel.hpp finds the current stream by name.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#ifndef USE_CUDA
#define USE_CUDA
#define DJ_DEFINED_USE_CUDA
#endif
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/c/shim.h>
#ifdef DJ_DEFINED_USE_CUDA
#undef USE_CUDA
#undef DJ_DEFINED_USE_CUDA
#endif

#include <cstdint>

#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/lazy.hpp>
#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {

namespace detail {

// Bound at first call, so that an extension which includes this header also loads beside a
// CPU-only torch, where libtorch_cuda.so does not exist.
inline void* find_torch_cuda_shim(const char* symbol) {
  void* library = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
  void* shim = library == nullptr ? nullptr : dlsym(library, symbol);
  if (shim == nullptr) {
    DJ_FAIL(kDevice,
            "cuda: torch: given a process without {} (torch's CUDA library is {}).\n"
            "  Rule TORCH_CUDA: streams of torch need a CUDA build of torch 2.10 or newer.\n"
            "  Fix: import such a torch first, or pass an explicit stream.",
            symbol, library == nullptr ? "not loaded" : "too old");
  }
  return shim;
}

inline void check_torch_shim(AOTITorchError code, const char* symbol) {
  if (code == 0) [[likely]]
    return;
  DJ_FAIL(kDevice,
          "cuda: torch: {}: given error code {}.\n"
          "  Rule TORCH_SHIM: a shim of torch must return 0.\n"
          "  Fix: see torch's message on stderr; check the device index.",
          symbol, static_cast<int>(code));
}

}  // namespace detail

#define DJ_CALL_TORCH_CUDA_SHIM(name, ...)                                                    \
  do {                                                                                        \
    static const auto shim =                                                                  \
        reinterpret_cast<decltype(&::name)>(::deep_jit::detail::find_torch_cuda_shim(#name)); \
    ::deep_jit::detail::check_torch_shim(shim(__VA_ARGS__), #name);                           \
  } while (false)

inline CUstream get_current_cuda_stream(std::int32_t device_index) {
#if defined(TORCH_VERSION_2_13_0) && TORCH_FEATURE_VERSION >= TORCH_VERSION_2_13_0
  // The accelerator-neutral API: no CUDA shim involved.
  return static_cast<CUstream>(
      torch::stable::accelerator::getCurrentStream(device_index).nativeHandle());
#else
  void* stream = nullptr;
  DJ_CALL_TORCH_CUDA_SHIM(aoti_torch_get_current_cuda_stream, device_index, &stream);
  return static_cast<CUstream>(stream);
#endif
}

// Low priority, as torch.cuda.Stream() gives.
inline cudaStream_t get_stream_from_pool(std::int32_t device_index) {
  void* stream = nullptr;
  DJ_CALL_TORCH_CUDA_SHIM(torch_get_cuda_stream_from_pool, false, device_index, &stream);
  return static_cast<cudaStream_t>(stream);
}

// Makes `stream` torch's current one of its device until the end of the scope.
class TorchCUDAStreamGuard {
 public:
  TorchCUDAStreamGuard(cudaStream_t stream, std::int32_t device_index) {
    DJ_CALL_TORCH_CUDA_SHIM(aoti_torch_create_cuda_stream_guard, stream, device_index, &guard_);
  }
  // A destructor must not throw: torch's own guard swallows the same failure.
  ~TorchCUDAStreamGuard() {
    try {
      DJ_CALL_TORCH_CUDA_SHIM(aoti_torch_delete_cuda_stream_guard, guard_);
    } catch (const exception::Exception&) {
    }
  }

  TorchCUDAStreamGuard() = delete;
  TorchCUDAStreamGuard(const TorchCUDAStreamGuard&) = delete;
  TorchCUDAStreamGuard(TorchCUDAStreamGuard&&) = delete;
  TorchCUDAStreamGuard& operator=(const TorchCUDAStreamGuard&) = delete;
  TorchCUDAStreamGuard& operator=(TorchCUDAStreamGuard&&) = delete;

 private:
  CUDAStreamGuardHandle guard_ = nullptr;
};

#undef DJ_CALL_TORCH_CUDA_SHIM

namespace cuda {
using deep_jit::get_current_cuda_stream;
using deep_jit::get_stream_from_pool;
using deep_jit::TorchCUDAStreamGuard;
}  // namespace cuda

}  // namespace DJ_HIDDEN deep_jit
