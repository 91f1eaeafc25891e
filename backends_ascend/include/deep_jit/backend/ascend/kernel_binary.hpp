// A device binary in the runtime's hands: loaded from a file or from memory for one device, its
// kernels found by name.
//
//   auto binary = ascend::KernelBinary::from_file(dir / "kernel.o", device_index);
//   auto binary = ascend::KernelBinary::from_memory(bytes, device_index);
//   binary->find("add").handle;                      // aclrtFuncHandle
//   binary->names();                                 // "add, mul"
//
// Unloaded with the object. Leaves launching to kernel.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <deep_jit/backend/ascend/compiler.hpp>
#include <deep_jit/backend/ascend/device.hpp>
#include <deep_jit/backend/ascend/driver.hpp>
#include <deep_jit/backend/ascend/elf_kernel_names.hpp>

namespace DJ_HIDDEN deep_jit {
namespace ascend {

struct KernelFunction {
  std::string name;
  CoreType core = CoreType::kUnknown;
  aclrtFuncHandle handle = nullptr;
};

class KernelBinary {
 public:
  // Throws Toolchain for bytes that are no device binary, Device for what the runtime refuses.
  static std::shared_ptr<const KernelBinary> from_file(const std::filesystem::path& path,
                                                       int device_index) {
    const DeviceBinary contents = read_device_binary(detail::read_artifact(path));
    return load(contents, device_index, path.string(), [&](aclrtBinHandle* handle) {
      return driver::lazy_aclrtBinaryLoadFromFile(path.c_str(), nullptr, handle);
    });
  }

  static std::shared_ptr<const KernelBinary> from_memory(std::string_view bytes, int device_index) {
    const DeviceBinary contents = read_device_binary(bytes);
    aclrtBinaryLoadOption option{};
    option.type = ACL_RT_BINARY_LOAD_OPT_MAGIC;
    option.value.magic = contents.magic();
    aclrtBinaryLoadOptions options{&option, 1};
    return load(contents, device_index, str::format("{} bytes of memory", bytes.size()),
                [&](aclrtBinHandle* handle) {
                  return driver::lazy_aclrtBinaryLoadFromData(bytes.data(), bytes.size(), &options,
                                                              handle);
                });
  }

  // Why waiting: nothing says that unloading waits for kernels that still run. Answers are of no
  // use here: at process exit the runtime may be gone already.
  ~KernelBinary() {
    if (handle_ == nullptr) return;
    std::int32_t current = -1;
    const bool had_one = driver::lazy_aclrtGetDevice(&current) == ACL_SUCCESS;
    if (was_launched_ && driver::lazy_aclrtSetDevice(get_device_index()) == ACL_SUCCESS)
      driver::lazy_aclrtSynchronizeDevice();
    driver::lazy_aclrtBinaryUnLoad(handle_);
    if (had_one) driver::lazy_aclrtSetDevice(current);
  }
  KernelBinary(const KernelBinary&) = delete;
  KernelBinary& operator=(const KernelBinary&) = delete;

  const std::vector<KernelFunction>& functions() const { return functions_; }
  int get_device_index() const { return device_->get_index(); }
  const Device& device() const { return *device_; }
  aclrtBinHandle get_handle() const { return handle_; }
  void note_launch() const { was_launched_.store(true, std::memory_order_relaxed); }

  std::string names() const {
    std::string text;
    for (const KernelFunction& function : functions_)
      text += (text.empty() ? "" : ", ") + function.name;
    return text;
  }

  const KernelFunction& find(std::string_view name) const {
    for (const KernelFunction& function : functions_)
      if (function.name == name) return function;
    DJ_FAIL(kInvalidArgument,
            "ascend: load: kernel: given '{}'.\n"
            "  Rule KERNEL_NAME: the binary holds {}.\n"
            "  Fix: use one of these; a kernel is extern \"C\" __global__.",
            name, names());
  }

 private:
  explicit KernelBinary(int device_index) : device_(std::make_shared<Device>(device_index)) {}

  template <class Load>
  static std::shared_ptr<const KernelBinary> load(const DeviceBinary& contents, int device_index,
                                                  std::string_view origin, const Load& load) {
    if (contents.kernels.empty()) {
      DJ_FAIL(kToolchain,
              "ascend: load: binary: given {}.\n"
              "  Rule KERNEL_PRESENT: it holds at least one kernel.\n"
              "  Fix: define an extern \"C\" __global__ function.",
              origin);
    }
    driver::ensure_initialized();
    std::shared_ptr<KernelBinary> binary(new KernelBinary(device_index));
    const DeviceScope scope(device_index);
    const aclError result = load(&binary->handle_);
    if (result != ACL_SUCCESS) {
      binary->handle_ = nullptr;
      driver::fail(result, str::format("aclrtBinaryLoad of {} on device {}", origin, device_index),
                   __FILE__, __LINE__);
    }
    for (const DeviceKernel& kernel : contents.kernels)
      binary->functions_.push_back(
          {kernel.name, kernel.core, find_function(binary->handle_, kernel)});
    return binary;
  }

  // A mix kernel goes by its own name; a runtime that wants a half's is served too.
  static aclrtFuncHandle find_function(aclrtBinHandle binary, const DeviceKernel& kernel) {
    aclrtFuncHandle handle = nullptr;
    const aclError result =
        driver::lazy_aclrtBinaryGetFunction(binary, kernel.name.c_str(), &handle);
    if (result == ACL_SUCCESS) return handle;
    const auto try_half = [&](bool is_there, std::string_view suffix) {
      const std::string name = kernel.name + std::string(suffix);
      return is_there &&
             driver::lazy_aclrtBinaryGetFunction(binary, name.c_str(), &handle) == ACL_SUCCESS;
    };
    if (try_half(kernel.has_cube, kMixCube) || try_half(kernel.has_vector, kMixVector))
      return handle;
    driver::fail(result, str::format("aclrtBinaryGetFunction of '{}'", kernel.name), __FILE__,
                 __LINE__);
  }

  std::shared_ptr<const Device> device_;
  aclrtBinHandle handle_ = nullptr;
  mutable std::atomic<bool> was_launched_{false};
  std::vector<KernelFunction> functions_;
};

}  // namespace ascend
}  // namespace DJ_HIDDEN deep_jit
