// One GPU: its properties, read once per index, and the name of the target it runs.
//
//   cuda::Device device(1);                      // index of the driver, as torch counts
//   device.get_num_sms();                        // 132
//   device.get_arch();                           // "90a", "100f", "86"
//   cuda::arch_name(10, 3, /*use_arch_family=*/false);   // "103a": no device needed
//
// Leaves contexts and launches to kernel.hpp, and whether a compiler knows the target to
// backend.hpp.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <deep_jit/backend/cuda/driver.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cuda {

// Field names are cudaDeviceProp's of CUDA 13; bytes as there. One row per integer property. Clocks
// are asked for when wanted: the driver reads them from the device, which costs a first call.
#define DJ_CUDA_DEVICE_PROPERTIES(X)                                  \
  X(major, COMPUTE_CAPABILITY_MAJOR)                                  \
  X(minor, COMPUTE_CAPABILITY_MINOR)                                  \
  X(multiProcessorCount, MULTIPROCESSOR_COUNT)                        \
  X(l2CacheSize, L2_CACHE_SIZE)                                       \
  X(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK)                   \
  X(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)        \
  X(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) \
  X(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK)      \
  X(regsPerBlock, MAX_REGISTERS_PER_BLOCK)                            \
  X(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR)          \
  X(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK)                        \
  X(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR)      \
  X(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR)        \
  X(warpSize, WARP_SIZE)                                              \
  X(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH)                          \
  X(cooperativeLaunch, COOPERATIVE_LAUNCH)                            \
  X(clusterLaunch, CLUSTER_LAUNCH)                                    \
  X(tensorMapAccess, TENSOR_MAP_ACCESS_SUPPORTED)                     \
  X(integrated, INTEGRATED)

struct DeviceProp {
  int index = 0;
  std::string name;
  std::size_t totalGlobalMem = 0;
#define DJ_CUDA_DEVICE_FIELD(field, attribute) int field = 0;
  DJ_CUDA_DEVICE_PROPERTIES(DJ_CUDA_DEVICE_FIELD)
#undef DJ_CUDA_DEVICE_FIELD
};

// The target a GPU of this capability runs. Family targets (100f, 120f) serve every member of the
// family, exact ones (90a, 103a) one chip; both may use instructions that plain targets may not.
// Hopper has no family, and nothing below 9.0 has either.
inline std::string arch_name(int major, int minor, bool use_arch_family = true,
                             bool number_only = false) {
  const bool family = use_arch_family && major >= 10;
  // Why: a family is named by its first member (10.0, 11.0, 12.0), whichever member runs it.
  const int number = major * 10 + (family ? 0 : minor);
  std::string text = str::format("{}", number);
  if (!number_only && major >= 9) text += family ? 'f' : 'a';
  return text;
}

class Device {
 public:
  explicit Device(int index = 0) : prop_(read(index)) {}

  const std::shared_ptr<const DeviceProp>& get_prop() const { return prop_; }
  int get_index() const { return prop_->index; }
  int get_num_sms() const { return prop_->multiProcessorCount; }
  int get_num_l2_cache_bytes() const { return prop_->l2CacheSize; }
  int get_num_smem_bytes() const { return prop_->sharedMemPerBlockOptin; }    // one block, opted in
  int get_clock_rate() const { return ask(CU_DEVICE_ATTRIBUTE_CLOCK_RATE); }  // kHz
  int get_memory_clock_rate() const { return ask(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE); }
  int get_arch_major() const { return prop_->major; }
  int get_arch_minor() const { return prop_->minor; }
  std::pair<int, int> get_arch_pair() const { return {prop_->major, prop_->minor}; }
  std::string get_arch(bool use_arch_family = true, bool number_only = false) const {
    return arch_name(prop_->major, prop_->minor, use_arch_family, number_only);
  }

  // The device of the thread's current context; 0 where it has none, as the CUDA runtime and torch
  // begin. Starts no context.
  static int current_index() {
    driver::ensure_initialized();
    CUcontext context = nullptr;
    DJ_CUDA_DRIVER_CHECK(driver::lazy_cuCtxGetCurrent(&context));
    if (context == nullptr) return 0;
    CUdevice device{};
    DJ_CUDA_DRIVER_CHECK(driver::lazy_cuCtxGetDevice(&device));
    return static_cast<int>(device);
  }

  static int count() {
    int num_devices = 0;
    driver::ensure_initialized();
    DJ_CUDA_DRIVER_CHECK(driver::lazy_cuDeviceGetCount(&num_devices));
    return num_devices;
  }

 private:
  int ask(CUdevice_attribute attribute) const {
    int value = 0;
    CUdevice device{};
    DJ_CUDA_DRIVER_CHECK(driver::lazy_cuDeviceGet(&device, prop_->index));
    DJ_CUDA_DRIVER_CHECK(driver::lazy_cuDeviceGetAttribute(&value, attribute, device));
    return value;
  }

  // Once per index and process: a launch path may make a Device without a driver call.
  static std::shared_ptr<const DeviceProp> read(int index) {
    static std::mutex mutex;
    static std::map<int, std::shared_ptr<const DeviceProp>> table;
    const std::lock_guard lock(mutex);
    auto& prop = table[index];
    if (prop == nullptr) prop = read_anew(index);
    return prop;
  }

  static std::shared_ptr<const DeviceProp> read_anew(int index) {
    const int num_devices = count();
    if (index < 0 || index >= num_devices) {
      DJ_FAIL(
          kInvalidArgument,
          "cuda: device: given index {}.\n"
          "  Rule DEVICE_INDEX: this process sees {} device(s), counted from 0.\n"
          "  Fix: use a smaller index, or widen CUDA_VISIBLE_DEVICES before the process starts.",
          index, num_devices);
    }
    auto prop = std::make_shared<DeviceProp>();
    CUdevice device{};
    DJ_CUDA_DRIVER_CHECK(driver::lazy_cuDeviceGet(&device, index));
    prop->index = index;
    char name[256] = {};
    DJ_CUDA_DRIVER_CHECK(driver::lazy_cuDeviceGetName(name, int{sizeof(name) - 1}, device));
    prop->name = name;
    DJ_CUDA_DRIVER_CHECK(driver::lazy_cuDeviceTotalMem(&prop->totalGlobalMem, device));
#define DJ_CUDA_DEVICE_FIELD(field, attribute) \
  DJ_CUDA_DRIVER_CHECK(                        \
      driver::lazy_cuDeviceGetAttribute(&prop->field, CU_DEVICE_ATTRIBUTE_##attribute, device));
    DJ_CUDA_DEVICE_PROPERTIES(DJ_CUDA_DEVICE_FIELD)
#undef DJ_CUDA_DEVICE_FIELD
    return prop;
  }

  std::shared_ptr<const DeviceProp> prop_;
};

}  // namespace cuda
}  // namespace DJ_HIDDEN deep_jit
