// One library with the runtimes of all three back ends, loaded into a process with torch: what an
// extension that serves every device is made of. Built for the Ascend target version of torch,
// whose accelerator API then has a header, so that the shims found at run time can be compared.
#include <deep_jit/backend/cuda/stable_torch_utils.h>

#include <deep_jit/backend/cuda/backend.hpp>
#include <deep_jit/backend/host/backend.hpp>

#include <deep_jit/backend/ascend/backend.hpp>

#include <cstdio>
#include <cstring>
#include <string>

#include <torch/csrc/stable/accelerator.h>

#ifdef USE_CUDA
#error "USE_CUDA has left stable_torch_utils.h and reached the Ascend back end"
#endif

namespace {

using namespace deep_jit;

Config config_of(const char* root) { return Config(root, "THREE"); }

// The text of an exception, cut to the buffer; 1 where there was none.
template <class Body>
int guarded(char* text, int room, const Body& body) {
  try {
    body();
    return 1;
  } catch (const std::exception& error) {
    std::snprintf(text, static_cast<std::size_t>(room), "%s", error.what());
    return 0;
  }
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default"))) int

EXPORT host_kernel_writes_seven(const char* root, char* text, int room) {
  return guarded(text, room, [&] {
    Runtime<Host> jit(config_of(root));
    int value = 0, *pointer = &value;
    jit.launch(jit.compile("put",
                           "struct DjHostBlock;\nextern \"C\" void put(const DjHostBlock*, "
                           "void* const* args) { **(int**)args[0] = 7; }\n"),
               {}, pointer);
    if (value != 7) DJ_PANIC("the kernel wrote {}", value);
  });
}

// On torch's current stream of the device; `out` is device memory of one int.
EXPORT npu_kernel_writes_seven(const char* root, int device, void* out, char* text, int room) {
  return guarded(text, room, [&] {
    const ascend::DeviceScope scope(device);
    Runtime<Ascend> jit(config_of(root));
    jit.launch(jit.compile("put",
                           "#include \"kernel_operator.h\"\nextern \"C\" __global__ "
                           "__vector__ void put(__gm__ int* out) { *out = 7; }\n"),
               {}, static_cast<int*>(out));
  });
}

EXPORT cuda_report_is_printed(const char* root, char* text, int room) {
  return guarded(text, room, [&] {
    if (Runtime<CUDA>(config_of(root)).backend.report().find("NVRTC") == std::string::npos)
      DJ_PANIC("no report");
  });
}

// The stream found at run time against that of torch's own header.
EXPORT streams_are_equal(int device, char* text, int room) {
  return guarded(text, room, [&] {
    void* const found = ascend::current_torch_stream(device);
    void* const told = torch::stable::accelerator::getCurrentStream(device).nativeHandle();
    if (found != told || found == nullptr) DJ_PANIC("{} is not {}", found, told);
    if (ascend::current_torch_device() != torch::stable::accelerator::getCurrentDeviceIndex())
      DJ_PANIC("the device differs");
  });
}
