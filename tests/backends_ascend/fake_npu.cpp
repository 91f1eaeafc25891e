// A stand-in for torch_npu: an "npu" back end of torch over the simulated ACL runtime, with just
// enough for tensors to be made, copied and handed to operators, on two devices and many streams.
//
//   torch.ops.load_library("fake_npu.so");  torch.empty(4, device="npu:1")
//
// Built against torch's private C++ headers, as torch_npu is; nothing of the product sees them.
#include <dlfcn.h>

#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/Resize.h>
#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <acl/acl_rt.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

namespace {

template <class F>
F* function(F*, const char* name) {
  static void* const library = [] {
    const char* root = std::getenv("ASCEND_HOME_PATH");
    return dlopen((std::string(root == nullptr ? "" : root) + "/lib64/libascendcl.so").c_str(),
                  RTLD_NOW);
  }();
  TORCH_CHECK(library != nullptr, "no libascendcl.so");
  return reinterpret_cast<F*>(dlsym(library, name));
}
#define ACL(name) function(static_cast<decltype(&name)>(nullptr), #name)
#define CHECK_ACL(name, ...) TORCH_CHECK(ACL(name)(__VA_ARGS__) == ACL_SUCCESS, #name)

constexpr auto kNpu = c10::DeviceType::PrivateUse1;
thread_local c10::DeviceIndex device_index = 0;
thread_local std::vector<c10::StreamId> stream_ids(2, 0);

void use_device() {
  static const int done = ACL(aclInit)(nullptr);
  static_cast<void>(done);
  CHECK_ACL(aclrtSetDevice, device_index);
}

// Streams by id: 0 is the default one, made with the rest at its first use.
void* stream_of(c10::DeviceIndex device, c10::StreamId id) {
  static std::mutex mutex;
  static std::vector<std::vector<aclrtStream>> all(2);
  const std::lock_guard<std::mutex> guard(mutex);
  auto& streams = all.at(static_cast<std::size_t>(device));
  const auto previous = device_index;
  device_index = device;
  use_device();
  while (streams.size() <= static_cast<std::size_t>(id)) {
    streams.emplace_back();
    CHECK_ACL(aclrtCreateStream, &streams.back());
  }
  device_index = previous;
  use_device();
  return streams[static_cast<std::size_t>(id)];
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  static constexpr c10::DeviceType static_type = kNpu;
  Guard() = default;
  explicit Guard(c10::DeviceType) {}
  c10::DeviceType type() const override { return kNpu; }
  c10::Device getDevice() const override { return {kNpu, device_index}; }
  void setDevice(c10::Device device) const override {
    if (device.has_index()) device_index = device.index();
    use_device();
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.has_index()) device_index = device.index();
    use_device();
  }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device old = getDevice();
    setDevice(device);
    return old;
  }
  c10::Stream getStream(c10::Device device) const override {
    const auto index = device.has_index() ? device.index() : device_index;
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(kNpu, index),
                       stream_ids.at(static_cast<std::size_t>(index)));
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const c10::Stream old = getStream(stream.device());
    stream_ids.at(static_cast<std::size_t>(stream.device_index())) = stream.id();
    return old;
  }
  c10::DeviceIndex deviceCount() const noexcept override { return 2; }
  void* getStreamNativeHandle(const c10::Stream stream) const override {
    return stream_of(stream.device_index(), stream.id());
  }
};

struct Hooks final : at::PrivateUse1HooksInterface {
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
};

struct Memory final : c10::Allocator {
  c10::DataPtr allocate(std::size_t size) override {
    use_device();
    void* memory = nullptr;
    if (size != 0) CHECK_ACL(aclrtMalloc, &memory, size, ACL_MEM_MALLOC_HUGE_FIRST);
    return {memory, memory, &release, {kNpu, device_index}};
  }
  static void release(void* memory) {
    if (memory != nullptr) ACL(aclrtFree)(memory);
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t size) const override {
    CHECK_ACL(aclrtMemcpy, to, size, from, size, ACL_MEMCPY_DEVICE_TO_DEVICE);
  }
};
Memory memory;
REGISTER_ALLOCATOR(kNpu, &memory);
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

const c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

at::Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>,
                 std::optional<at::MemoryFormat> format) {
  const c10::DeviceGuard guard(device.value_or(at::Device(kNpu)));
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), &memory, kKeys,
                                   c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                         std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                         std::optional<at::Device> device, std::optional<bool>) {
  const c10::DeviceGuard guard(device.value_or(at::Device(kNpu)));
  return at::detail::empty_strided_generic(C10_AS_INTARRAYREF_SLOW(size),
                                           C10_AS_INTARRAYREF_SLOW(stride), &memory, kKeys,
                                           c10::dtype_or_default(dtype));
}

// Between host and device, contiguous: all that the tests need. Waits for the stream first.
at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
  TORCH_CHECK(from.is_contiguous() && to.is_contiguous() && from.dtype() == to.dtype(),
              "the stand-in copies contiguous tensors of one dtype");
  const c10::DeviceGuard guard(from.is_cpu() ? to.device() : from.device());
  const auto stream = Guard().getStream({kNpu, device_index});
  CHECK_ACL(aclrtSynchronizeStream, stream_of(device_index, stream.id()));
  const auto kind = from.is_cpu() ? ACL_MEMCPY_HOST_TO_DEVICE
                    : to.is_cpu() ? ACL_MEMCPY_DEVICE_TO_HOST
                                  : ACL_MEMCPY_DEVICE_TO_DEVICE;
  if (from.numel() != 0)
    CHECK_ACL(aclrtMemcpy, to.mutable_data_ptr(), to.nbytes(), from.const_data_ptr(), from.nbytes(),
              kind);
  return to;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("_copy_from", &copy_from);
}

const int registered = [] {
  c10::register_privateuse1_backend("npu");
  static Hooks hooks;
  at::RegisterPrivateUse1HooksInterface(&hooks);
  return 0;
}();

}  // namespace

// For tests, by ctypes: the stream that this thread's launches go to, and its handle.
extern "C" __attribute__((visibility("default"))) void fake_npu_use_stream(int device, long id) {
  stream_ids.at(static_cast<std::size_t>(device)) = id;
}
extern "C" __attribute__((visibility("default"))) void* fake_npu_stream(int device, long id) {
  return stream_of(static_cast<c10::DeviceIndex>(device), id);
}
