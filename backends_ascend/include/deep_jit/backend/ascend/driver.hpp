// The ACL runtime, bound at first call: no CANN library at link time, none needed to load the
// extension.
//
//   ascend::driver::ensure_initialized();                       // aclInit, once
//   DJ_ACL_CHECK(ascend::driver::lazy_aclrtSynchronizeStream(stream));
//   DJ_DECL_LAZY_ACL_FUNCTION(aclrtMemsetAsync)                 // any further one, in your scope
//   if (!ascend::driver::is_available()) { ... }                // no CANN here: no throw
//
// Leaves which device and what to check before a launch to device.hpp and kernel.hpp.
#pragma once

#include <acl/acl_rt.h>
#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/str.hpp>

namespace DJ_HIDDEN deep_jit {
namespace ascend::driver {

inline constexpr const char* kDriverLibrary = "libascendcl.so";

// nullptr where there is no ACL; the loader's reason goes to `why`. The loader's own search comes
// first; a toolkit that is named but whose set_env.sh was not sourced is found all the same.
inline void* find_library(std::string* why = nullptr) {
  void* handle = dlopen(kDriverLibrary, RTLD_LAZY | RTLD_LOCAL);
  const char* text = handle == nullptr ? dlerror() : nullptr;
  if (handle == nullptr && why != nullptr) *why = text == nullptr ? "unknown" : text;
  for (const char* name : {"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"}) {
    const char* root = std::getenv(name);
    if (handle != nullptr || root == nullptr || *root == '\0') continue;
    const std::string path = str::format("{}/lib64/{}", root, kDriverLibrary);
    handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  }
  return handle;
}

inline bool is_available() { return find_library() != nullptr; }

// Throws Device each time there is no ACL, so that a toolkit mounted later is found.
inline void* get_library() {
  static void* const handle = [] {
    std::string why;
    void* found = find_library(&why);
    if (found == nullptr) {
      DJ_FAIL(kDevice,
              "ascend: driver: given no {} ({}).\n"
              "  Rule ACL_PRESENT: loading and launching need the CANN runtime.\n"
              "  Fix: source CANN's set_env.sh or set ASCEND_HOME_PATH; or pass `arch` and use "
              "compile_without_load, which needs no runtime.",
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
            "ascend: driver: given a {} without {}.\n"
            "  Rule ACL_VERSION: this CANN is older than the call that is needed.\n"
            "  Fix: install a newer CANN toolkit.",
            kDriverLibrary, symbol);
  }
  return function;
}

}  // namespace ascend::driver
}  // namespace DJ_HIDDEN deep_jit

#define DJ_DECL_LAZY_ACL_FUNCTION(name)                                                      \
  template <class... Args>                                                                   \
  inline auto lazy_##name(Args&&... args) -> decltype(name(std::forward<Args>(args)...)) {   \
    static const auto function =                                                             \
        reinterpret_cast<decltype(&name)>(::deep_jit::ascend::driver::find_function(#name)); \
    return function(std::forward<Args>(args)...);                                            \
  }

// One row per entry point the product or its consumers use.
#define DJ_ACL_FUNCTIONS(X)         \
  X(aclInit)                        \
  X(aclFinalize)                    \
  X(aclGetRecentErrMsg)             \
  X(aclrtGetSocName)                \
  X(aclrtSetDevice)                 \
  X(aclrtGetDevice)                 \
  X(aclrtGetDeviceCount)            \
  X(aclrtGetDeviceInfo)             \
  X(aclrtBinaryLoadFromFile)        \
  X(aclrtBinaryLoadFromData)        \
  X(aclrtBinaryUnLoad)              \
  X(aclrtBinaryGetFunction)         \
  X(aclrtBinaryGetGlobal)           \
  X(aclrtLaunchKernelWithHostArgs)  \
  X(aclrtLaunchKernelWithArgsArray) \
  X(aclrtCreateStream)              \
  X(aclrtDestroyStream)             \
  X(aclrtSynchronizeStream)         \
  X(aclrtSynchronizeDevice)         \
  X(aclrtMalloc)                    \
  X(aclrtFree)                      \
  X(aclrtMemcpy)                    \
  X(aclrtMemcpyAsync)

namespace DJ_HIDDEN deep_jit {
namespace ascend::driver {

DJ_ACL_FUNCTIONS(DJ_DECL_LAZY_ACL_FUNCTION)

// "507015: <the runtime's own words>". Reading the words takes them: a second call has none.
inline std::string describe_result(aclError result) {
  const char* text = lazy_aclGetRecentErrMsg();
  std::string words(text == nullptr ? "" : str::trim(text));
  return str::format("{}: {}", result, words.empty() ? "the runtime says nothing" : words);
}

// The way out for results whose cause is the same wherever they appear.
inline std::string_view remedy(aclError result) {
  switch (result) {
    case ACL_ERROR_UNINITIALIZE:
    case ACL_ERROR_RT_CONTEXT_NULL:
      return "call ensure_initialized() and aclrtSetDevice() in this thread first. A process "
             "forked after its parent used the NPU cannot use it: start workers with spawn.";
    case ACL_ERROR_RT_INVALID_DEVICEID:
    case ACL_ERROR_INVALID_DEVICE:
    case ACL_ERROR_RT_NO_DEVICE:
      return "no such NPU is visible; check ASCEND_RT_VISIBLE_DEVICES and `npu-smi info`.";
    case ACL_ERROR_RT_MEMORY_ALLOCATION:
    case ACL_ERROR_RT_DEVICE_OOM:
      return "device memory is full; free tensors or use a smaller batch.";
    case ACL_ERROR_RT_STREAM_CONTEXT:
      return "pass a stream of the kernel's own device.";
    case ACL_ERROR_RT_AICORE_TIMEOUT:
    case ACL_ERROR_RT_AICORE_EXCEPTION:
    case ACL_ERROR_RT_AICORE_TRAP_EXCEPTION:
      return "an earlier kernel faulted; check its addresses, and run under msSanitizer.";
    case ACL_ERROR_RT_FEATURE_NOT_SUPPORT:
    case ACL_ERROR_API_NOT_SUPPORT:
      return "this CANN or SoC does not offer the call; update CANN.";
    default:
      return "see the runtime's text above, and the plog files under ~/ascend/log.";
  }
}

[[noreturn]] inline void fail(aclError result, std::string_view call, std::string_view file,
                              int line) {
  throw exception::Exception(exception::Kind::kDevice, file, line, std::string(call),
                             str::format("ascend: {}: given {}.\n"
                                         "  Rule ACL_CALL: an ACL call must return ACL_SUCCESS.\n"
                                         "  Fix: {}",
                                         call, describe_result(result), remedy(result)));
}

// torch_npu or the program itself may have been first, which is just as good.
inline void ensure_initialized() {
  static const bool done = [] {
    const aclError result = lazy_aclInit(nullptr);
    if (result != ACL_SUCCESS && result != ACL_ERROR_REPEAT_INITIALIZE &&
        result != ACL_ERROR_RT_REPEATED_INIT)
      fail(result, "aclInit(nullptr)", __FILE__, __LINE__);
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace ascend::driver
}  // namespace DJ_HIDDEN deep_jit

#define DJ_ACL_CHECK(call)                                                     \
  do {                                                                         \
    const aclError dj_result_ = (call);                                        \
    if (dj_result_ != ACL_SUCCESS) [[unlikely]]                                \
      ::deep_jit::ascend::driver::fail(dj_result_, #call, __FILE__, __LINE__); \
  } while (false)
