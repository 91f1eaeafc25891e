// The CUDA driver API, bound at first call: no CUDA library at link time, none needed to load the
// extension.
//
//   DJ_CUDA_DRIVER_CHECK(cuda::driver::lazy_cuStreamSynchronize(stream));
//   cuda::driver::ensure_initialized();                    // cuInit, once
//   DJ_DECL_LAZY_CUDA_FUNCTION(cuMemAdvise)                // any further entry point, in your
//   scope if (!cuda::driver::is_available()) { ... }             // no driver on this machine: no
//   throw
//
// Leaves policy (which device, which context, what to check before a launch) to device.hpp and
// kernel.hpp.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <string>
#include <utility>

// The runtime header is for consumers that use cudaStream_t and DJ_CUDA_RUNTIME_CHECK; a folder
// that has cuda.h alone is enough for everything else.
#if __has_include(<cuda_runtime_api.h>) && __has_include(<crt/host_defines.h>)
#include <cuda_runtime_api.h>
#define DJ_HAS_CUDA_RUNTIME_HEADER 1
#else
#define DJ_HAS_CUDA_RUNTIME_HEADER 0
#endif

#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/lazy.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/str.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cuda::driver {

inline constexpr const char* kDriverLibrary = "libcuda.so.1";

// nullptr where there is no driver; the loader's reason goes to `why`.
inline void* find_library(std::string* why = nullptr) {
  void* handle = dlopen(kDriverLibrary, RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr && why != nullptr) {
    const char* text = dlerror();
    *why = text == nullptr ? "unknown" : text;
  }
  return handle;
}

inline bool is_available() { return find_library() != nullptr; }

// Throws Device each time there is no driver, so that a driver mounted later is found.
inline void* get_library() {
  static void* const handle = [] {
    std::string why;
    void* found = find_library(&why);
    if (found == nullptr) {
      DJ_FAIL(kDevice,
              "cuda: driver: given no {} ({}).\n"
              "  Rule DRIVER_PRESENT: loading and launching need the NVIDIA driver.\n"
              "  Fix: run where `nvidia-smi` works, or pass `arch` and use compile_without_load, "
              "which needs no driver.",
              kDriverLibrary, why);
    }
    return found;
  }();
  return handle;
}

inline void* find_function(const char* symbol) {
  void* function = dlsym(get_library(), symbol);
  if (function == nullptr) {
    DJ_FAIL(kDevice,
            "cuda: driver: given a {} without {}.\n"
            "  Rule DRIVER_VERSION: the driver must serve CUDA 12.8 or newer.\n"
            "  Fix: update the NVIDIA driver to release 570 or newer.",
            kDriverLibrary, symbol);
  }
  return function;
}

}  // namespace cuda::driver
}  // namespace DJ_HIDDEN deep_jit

// Declares lazy_<name>(...). Why two levels: cuda.h maps names to versions (cuMemAlloc is
// cuMemAlloc_v2), so the symbol must be the expanded name while the function keeps the plain one.
#define DJ_DECL_LAZY_CUDA_FUNCTION(name) DJ_DECL_LAZY_CUDA_FUNCTION_IMPL(lazy_##name, name)
#define DJ_DECL_LAZY_CUDA_FUNCTION_IMPL(lazy_name, symbol)                                     \
  inline decltype(&symbol) lazy_name##_pointer() {                                             \
    static const auto function =                                                               \
        reinterpret_cast<decltype(&symbol)>(::deep_jit::cuda::driver::find_function(#symbol)); \
    return function;                                                                           \
  }                                                                                            \
  template <class... Args>                                                                     \
  inline auto lazy_name(Args&&... args) -> decltype(symbol(std::forward<Args>(args)...)) {     \
    return lazy_name##_pointer()(std::forward<Args>(args)...);                                 \
  }

// One row per entry point the product or its consumers use.
#define DJ_CUDA_DRIVER_FUNCTIONS(X)              \
  X(cuInit)                                      \
  X(cuDriverGetVersion)                          \
  X(cuGetErrorName)                              \
  X(cuGetErrorString)                            \
  X(cuDeviceGet)                                 \
  X(cuDeviceGetCount)                            \
  X(cuDeviceGetName)                             \
  X(cuDeviceGetAttribute)                        \
  X(cuDeviceTotalMem)                            \
  X(cuDevicePrimaryCtxRetain)                    \
  X(cuDevicePrimaryCtxRelease)                   \
  X(cuCtxGetCurrent)                             \
  X(cuCtxSetCurrent)                             \
  X(cuCtxPushCurrent)                            \
  X(cuCtxPopCurrent)                             \
  X(cuCtxGetDevice)                              \
  X(cuCtxSynchronize)                            \
  X(cuThreadExchangeStreamCaptureMode)           \
  X(cuLibraryLoadData)                           \
  X(cuLibraryLoadFromFile)                       \
  X(cuLibraryUnload)                             \
  X(cuLibraryGetKernel)                          \
  X(cuLibraryGetKernelCount)                     \
  X(cuLibraryEnumerateKernels)                   \
  X(cuKernelGetFunction)                         \
  X(cuKernelGetName)                             \
  X(cuKernelGetAttribute)                        \
  X(cuKernelSetAttribute)                        \
  X(cuFuncGetAttribute)                          \
  X(cuFuncSetAttribute)                          \
  X(cuLaunchKernelEx)                            \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(cuOccupancyMaxActiveClusters)                \
  X(cuStreamCreate)                              \
  X(cuStreamDestroy)                             \
  X(cuStreamSynchronize)                         \
  X(cuStreamWaitEvent)                           \
  X(cuStreamIsCapturing)                         \
  X(cuStreamBatchMemOp)                          \
  X(cuEventCreate)                               \
  X(cuEventRecord)                               \
  X(cuEventSynchronize)                          \
  X(cuEventDestroy)                              \
  X(cuTensorMapEncodeTiled)                      \
  X(cuTensorMapReplaceAddress)                   \
  X(cuMemAlloc)                                  \
  X(cuMemFree)                                   \
  X(cuMemcpyHtoD)                                \
  X(cuMemcpyDtoH)                                \
  X(cuMemsetD32)                                 \
  X(cuMemAddressReserve)                         \
  X(cuMemAddressFree)                            \
  X(cuMemCreate)                                 \
  X(cuMemRelease)                                \
  X(cuMemMap)                                    \
  X(cuMemMapArrayAsync)                          \
  X(cuMemUnmap)                                  \
  X(cuMemSetAccess)                              \
  X(cuMemGetAccess)                              \
  X(cuMemExportToShareableHandle)                \
  X(cuMemImportFromShareableHandle)              \
  X(cuMemGetAllocationGranularity)               \
  X(cuMemGetAllocationPropertiesFromHandle)      \
  X(cuMemRetainAllocationHandle)

namespace DJ_HIDDEN deep_jit {
namespace cuda::driver {

DJ_CUDA_DRIVER_FUNCTIONS(DJ_DECL_LAZY_CUDA_FUNCTION)

// "CUDA_ERROR_INVALID_VALUE (1): invalid argument"; never throws for an unknown number.
inline std::string describe_result(CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  lazy_cuGetErrorName(result, &name);
  lazy_cuGetErrorString(result, &text);
  return str::format("{} ({}): {}", name == nullptr ? "unknown CUresult" : name,
                     static_cast<int>(result), text == nullptr ? "no description" : text);
}

// The way out for results whose cause is the same wherever they appear.
inline std::string_view remedy(CUresult result) {
  switch (result) {
    case CUDA_ERROR_NO_DEVICE:
      return "no GPU is visible; check CUDA_VISIBLE_DEVICES and `nvidia-smi`.";
    case CUDA_ERROR_NOT_INITIALIZED:
      return "call ensure_initialized() first. A process forked after its parent used CUDA cannot "
             "use CUDA: start workers with spawn, or fork before the first use.";
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
      return "an earlier kernel faulted and the context is lost; run under compute-sanitizer.";
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
      return "the binary is for another GPU or a newer driver; compile for this device, with a "
             "compiler of the driver's major version.";
    default:
      return "see the driver's text above.";
  }
}

[[noreturn]] inline void fail(CUresult result, std::string_view call, std::string_view file,
                              int line) {
  throw exception::Exception(
      exception::Kind::kDevice, file, line, std::string(call),
      str::format("cuda: {}: given {}.\n"
                  "  Rule DRIVER_CALL: a driver call must return CUDA_SUCCESS.\n"
                  "  Fix: {}",
                  call, describe_result(result), remedy(result)));
}

// Hazard: a child forked after this is told so by the driver's error, see remedy().
inline void ensure_initialized() {
  static const bool done = [] {
    const CUresult result = lazy_cuInit(0);
    if (result != CUDA_SUCCESS) fail(result, "cuInit(0)", __FILE__, __LINE__);
    return true;
  }();
  static_cast<void>(done);
}

// 13000 for CUDA 13.0; 0 where there is no driver. Starts nothing on a device.
inline int version_or_zero() {
  int version = 0;
  if (is_available()) lazy_cuDriverGetVersion(&version);
  return version;
}

}  // namespace cuda::driver
}  // namespace DJ_HIDDEN deep_jit

#define DJ_CUDA_DRIVER_CHECK(call)                                           \
  do {                                                                       \
    const CUresult dj_result_ = (call);                                      \
    if (dj_result_ != CUDA_SUCCESS) [[unlikely]]                             \
      ::deep_jit::cuda::driver::fail(dj_result_, #call, __FILE__, __LINE__); \
  } while (false)

// For consumers that link the CUDA runtime themselves; expands to its own text functions.
#define DJ_CUDA_RUNTIME_CHECK(call)                                            \
  do {                                                                         \
    const cudaError_t dj_error_ = (call);                                      \
    if (dj_error_ != cudaSuccess) [[unlikely]]                                 \
      DJ_FAIL(kDevice,                                                         \
              "cuda: {}: given {} ({}): {}.\n"                                 \
              "  Rule RUNTIME_CALL: a runtime call must return cudaSuccess.\n" \
              "  Fix: see the runtime's text above.",                          \
              #call, cudaGetErrorName(dj_error_), static_cast<int>(dj_error_), \
              cudaGetErrorString(dj_error_));                                  \
  } while (false)
