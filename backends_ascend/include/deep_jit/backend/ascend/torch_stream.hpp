// torch's current NPU stream, if torch is in this process: found by name, so that one binary loads
// beside every torch from 2.10 on, with or without torch_npu, and with no torch at all.
//
//   aclrtStream stream = ascend::current_torch_stream(device_index);   // throws Device without
//   std::optional<int> index = ascend::current_torch_device();         // nullopt without
//
// The calls are torch's accelerator-neutral shims, stable from 2.13 on; which back end answers them
// is a registration in torch, so a stand-in for torch_npu serves as well. Includes no torch header.
#pragma once

#include <acl/acl_rt.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <type_traits>

#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {
namespace ascend {

namespace detail {

struct TorchShims {
  std::int32_t (*parse_device)(const char* text, std::uint32_t* type, std::int32_t* index);
  std::int32_t (*current_device)(std::int32_t* index);
  std::int32_t (*current_stream)(std::int32_t device_index, void** stream);
  std::int32_t (*delete_stream)(void* stream);
  std::int32_t (*native_handle)(void* stream, void** handle);
  std::int32_t (*privateuse1)();
};

// Why dlopen: Python loads torch locally, so dlsym(RTLD_DEFAULT) does not see it. A miss is not
// remembered: torch may be imported later. native_handle is null before torch 2.13.
inline const TorchShims* torch_shims() {
  static std::atomic<const TorchShims*> found{nullptr};
  if (const TorchShims* shims = found.load(std::memory_order_acquire)) [[likely]]
    return shims;
  void* library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  TorchShims shims{};
  const auto bind = [&](auto& function, const char* symbol) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
    return function != nullptr;
  };
  bool is_whole = bind(shims.parse_device, "torch_parse_device_string");
  is_whole &= bind(shims.current_device, "aoti_torch_get_current_device_index");
  is_whole &= bind(shims.current_stream, "aoti_torch_get_current_stream");
  is_whole &= bind(shims.delete_stream, "aoti_torch_delete_stream");
  is_whole &= bind(shims.privateuse1, "aoti_torch_device_type_privateuse1");
  bind(shims.native_handle, "torch_stream_native_handle");
  if (!is_whole) return nullptr;
  // Kept for the process: two threads that come here together leave one of two equal tables unused.
  static const TorchShims kept = shims;
  found.store(&kept, std::memory_order_release);
  return &kept;
}

// Whether the accelerator of this torch is an NPU. Why the name is parsed: "npu" is a device only
// once a back end has registered itself under it, and such a one is torch's accelerator from then
// on; a CUDA build alone must never hand its streams to ACL.
inline bool is_npu(const TorchShims& shims) {
  static std::atomic<bool> is_known{false};
  if (is_known.load(std::memory_order_acquire)) [[likely]]
    return true;
  std::uint32_t type = 0;
  std::int32_t index = 0;
  if (shims.parse_device("npu", &type, &index) != 0) return false;
  if (type != static_cast<std::uint32_t>(shims.privateuse1())) return false;
  is_known.store(true, std::memory_order_release);
  return true;
}

}  // namespace detail

inline bool is_torch_npu_loaded() {
  const detail::TorchShims* shims = detail::torch_shims();
  return shims != nullptr && detail::is_npu(*shims);
}

// The index that torch would run on in this thread.
inline std::optional<int> current_torch_device() {
  const detail::TorchShims* shims = detail::torch_shims();
  std::int32_t index = 0;
  if (shims == nullptr || !detail::is_npu(*shims) || shims->current_device(&index) != 0)
    return std::nullopt;
  return index;
}

[[noreturn]] inline void fail_no_stream(const char* why, const char* fix) {
  DJ_FAIL(kDevice,
          "ascend: launch: stream: given none, and {}.\n"
          "  Rule STREAM_KNOWN: an unset stream means torch's current one; it is never a default "
          "stream.\n"
          "  Fix: set LaunchOptions.stream, or {}.",
          why, fix);
}

inline aclrtStream current_torch_stream(int device_index) {
  const detail::TorchShims* shims = detail::torch_shims();
  if (shims == nullptr) [[unlikely]]
    fail_no_stream("no torch is in this process", "import torch and torch_npu first");
  if (!detail::is_npu(*shims)) [[unlikely]]
    fail_no_stream("this torch has no npu back end", "import torch_npu first");
  if (shims->native_handle == nullptr) [[unlikely]]
    fail_no_stream("this torch is older than 2.13, whose shim gives a stream's handle",
                   "install torch and torch_npu 2.13 or newer");
  void* stream = nullptr;
  void* handle = nullptr;
  if (shims->current_stream(device_index, &stream) != 0) [[unlikely]]
    fail_no_stream("torch has no current stream for this device",
                   "check ASCEND_RT_VISIBLE_DEVICES");
  const std::int32_t result = shims->native_handle(stream, &handle);
  shims->delete_stream(stream);
  if (result != 0) [[unlikely]]
    fail_no_stream("the npu back end gives no native handle",
                   "install torch_npu 2.11.0.post3 or newer");
  return static_cast<aclrtStream>(handle);
}

}  // namespace ascend
}  // namespace DJ_HIDDEN deep_jit
