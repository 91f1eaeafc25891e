// One NPU: its properties, read once per index, and the target it runs.
//
//   ascend::Device device(1);                 // index of ACL, as torch_npu counts
//   device.get_num_sms();                     // AI cores: 24
//   device.get_npu_arch();                    // "dav-2201"
//   { ascend::DeviceScope scope(1); ... }     // current here, the thread's own one afterwards
//
// A property that this CANN does not know is 0. Leaves names of targets to target.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <deep_jit/backend/ascend/driver.hpp>
#include <deep_jit/backend/ascend/target.hpp>
#include <deep_jit/backend/ascend/torch_stream.hpp>

namespace DJ_HIDDEN deep_jit {
namespace ascend {

// X(field, attribute of ACL)
#define DJ_ASCEND_DEVICE_PROPERTIES(X)                       \
  X(num_ai_cores, AICORE_CORE_NUM)                           \
  X(num_cube_cores, CUBE_CORE_NUM)                           \
  X(num_vector_cores, VECTOR_CORE_NUM)                       \
  X(num_lanes, WARP_SIZE)                                    \
  X(max_threads_per_vector_core, MAX_THREAD_PER_VECTOR_CORE) \
  X(num_ub_bytes, UBUF_PER_VECTOR_CORE)                      \
  X(max_blocks, MAX_BLOCK_PER_GRID)                          \
  X(num_memory_bytes, TOTAL_GLOBAL_MEM_SIZE)                 \
  X(num_l2_bytes, L2_CACHE_SIZE)                             \
  X(npu_arch, NPU_ARCH)

struct DeviceProp {
  int index = 0;
  std::string soc_name;
#define DJ_ASCEND_DEVICE_FIELD(field, attribute) std::int64_t field = 0;
  DJ_ASCEND_DEVICE_PROPERTIES(DJ_ASCEND_DEVICE_FIELD)
#undef DJ_ASCEND_DEVICE_FIELD
};

// Makes a device current for the thread and puts back the one it had. A thread that had none keeps
// this one, as after torch_npu's first call.
class DeviceScope {
 public:
  explicit DeviceScope(int index) {
    std::int32_t current = -1;
    const bool had_one = driver::lazy_aclrtGetDevice(&current) == ACL_SUCCESS;
    if (had_one && current == index) [[likely]]
      return;
    DJ_ACL_CHECK(driver::lazy_aclrtSetDevice(index));
    if (had_one) previous_ = current;
  }
  ~DeviceScope() {
    if (previous_ >= 0) driver::lazy_aclrtSetDevice(previous_);
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  std::int32_t previous_ = -1;
};

class Device {
 public:
  explicit Device(int index = 0) : prop_(read(index)) {}

  const std::shared_ptr<const DeviceProp>& get_prop() const { return prop_; }
  int get_index() const { return prop_->index; }
  const std::string& get_soc_name() const { return prop_->soc_name; }
  int get_num_sms() const { return static_cast<int>(prop_->num_ai_cores); }
  int get_num_ai_cores() const { return static_cast<int>(prop_->num_ai_cores); }
  int get_num_cube_cores() const { return static_cast<int>(prop_->num_cube_cores); }
  int get_num_vector_cores() const { return static_cast<int>(prop_->num_vector_cores); }
  int get_num_lanes() const { return static_cast<int>(prop_->num_lanes); }
  std::int64_t get_num_ub_bytes() const { return prop_->num_ub_bytes; }  // of one vector core
  std::int64_t get_num_l2_cache_bytes() const { return prop_->num_l2_bytes; }

  // By the attribute, or by the name where this CANN has no such attribute.
  std::string get_npu_arch() const {
    std::string arch = arch_of_number(prop_->npu_arch);
    if (arch.empty()) arch = arch_of_soc(prop_->soc_name);
    if (arch.empty()) {
      DJ_FAIL(kUnsupported,
              "ascend: device: given {} (index {}).\n"
              "  Rule SOC_KNOWN: this CANN has no NPU_ARCH attribute, and the SoC is not in the "
              "table of target.hpp.\n"
              "  Fix: set CompilerOptions.arch, such as dav-2201, or update CANN.",
              prop_->soc_name, prop_->index);
    }
    return arch;
  }

  // The thread's own device, else torch's, else 0: what a thread's first use would take.
  static int current_index() {
    driver::ensure_initialized();
    std::int32_t index = 0;
    if (driver::lazy_aclrtGetDevice(&index) == ACL_SUCCESS) return index;
    return current_torch_device().value_or(0);
  }

  static int count() {
    driver::ensure_initialized();
    std::uint32_t num_devices = 0;
    DJ_ACL_CHECK(driver::lazy_aclrtGetDeviceCount(&num_devices));
    return static_cast<int>(num_devices);
  }

 private:
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
      DJ_FAIL(kInvalidArgument,
              "ascend: device: given index {}.\n"
              "  Rule DEVICE_INDEX: this process sees {} device(s), counted from 0.\n"
              "  Fix: use a smaller index, or widen ASCEND_RT_VISIBLE_DEVICES before the process "
              "starts.",
              index, num_devices);
    }
    const DeviceScope scope(index);
    auto prop = std::make_shared<DeviceProp>();
    prop->index = index;
    const char* name = driver::lazy_aclrtGetSocName();
    prop->soc_name = name == nullptr ? "unknown" : name;
    const auto device = static_cast<std::uint32_t>(index);
    const auto ask = [&](aclrtDevAttr attribute, std::int64_t& field) {
      if (driver::lazy_aclrtGetDeviceInfo(device, attribute, &field) != ACL_SUCCESS) field = 0;
    };
#define DJ_ASCEND_DEVICE_FIELD(field, attribute) ask(ACL_DEV_ATTR_##attribute, prop->field);
    DJ_ASCEND_DEVICE_PROPERTIES(DJ_ASCEND_DEVICE_FIELD)
#undef DJ_ASCEND_DEVICE_FIELD
    return prop;
  }

  std::shared_ptr<const DeviceProp> prop_;
};

}  // namespace ascend
}  // namespace DJ_HIDDEN deep_jit
