// torch's current CUDA stream, if torch is in this process: found by name, so that one binary loads
// beside a CUDA torch, a CPU-only torch and no torch at all.
//
//   CUstream stream = cuda::current_torch_stream(device_index);   // throws Device without torch
//   cuda::is_torch_cuda_loaded();                                 // false beside a CPU-only torch
//
// Leaves guards and pools, which need torch's headers, to stable_torch_utils.h.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdint>

#include <deep_jit/backend/cuda/driver.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cuda {

namespace detail {

using TorchStreamShim = std::int32_t (*)(std::int32_t device_index, void** stream);

// Why dlopen: the shim is in libtorch_cuda.so, which is loaded locally, so a weak reference or
// dlsym(RTLD_DEFAULT) does not see it. A miss is not remembered: torch may be imported later.
inline TorchStreamShim torch_stream_shim() {
  static std::atomic<TorchStreamShim> found{nullptr};
  TorchStreamShim shim = found.load(std::memory_order_acquire);
  if (shim != nullptr) [[likely]]
    return shim;
  void* library = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  shim = reinterpret_cast<TorchStreamShim>(dlsym(library, "aoti_torch_get_current_cuda_stream"));
  found.store(shim, std::memory_order_release);
  return shim;
}

}  // namespace detail

inline bool is_torch_cuda_loaded() { return detail::torch_stream_shim() != nullptr; }

inline CUstream current_torch_stream(int device_index) {
  const detail::TorchStreamShim shim = detail::torch_stream_shim();
  if (shim == nullptr) [[unlikely]] {
    DJ_FAIL(
        kDevice,
        "cuda: launch: stream: given none, and no torch with CUDA in this process.\n"
        "  Rule STREAM_KNOWN: an unset stream means torch's current one; it is never stream 0.\n"
        "  Fix: set LaunchOptions.stream (nullptr for stream 0), or import a CUDA build of "
        "torch first.");
  }
  void* stream = nullptr;
  if (shim(device_index, &stream) != 0) [[unlikely]] {
    DJ_FAIL(kDevice,
            "cuda: launch: stream: given none, and torch has no current stream for device {}.\n"
            "  Rule STREAM_KNOWN: torch knows the device of the launch.\n"
            "  Fix: set LaunchOptions.stream, or check CUDA_VISIBLE_DEVICES.",
            device_index);
  }
  return static_cast<CUstream>(stream);
}

}  // namespace cuda
}  // namespace DJ_HIDDEN deep_jit
