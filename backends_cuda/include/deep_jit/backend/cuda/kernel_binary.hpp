// A loaded cubin: its kernels by name, with everything a launch needs to know read once and every
// function attribute set once.
//
//   auto binary = cuda::KernelBinary::from_file(dir / "kernel.cubin", device_index);
//   const cuda::KernelFunction& function = binary->find("sm90_fp8_gemm");
//   function.max_dynamic_smem_bytes;            // the device's limit less the kernel's static part
//
// Leaves launching to kernel.hpp: a binary is immutable after load, hence safe from any thread.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <deep_jit/backend/cuda/compiler.hpp>
#include <deep_jit/backend/cuda/context.hpp>
#include <deep_jit/backend/cuda/cubin_info.hpp>
#include <deep_jit/backend/cuda/device.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cuda {

struct KernelFunction {
  std::string name;
  CUkernel kernel = nullptr;      // valid in any context of the device
  CUfunction function = nullptr;  // of the primary context: the faster handle
  int num_registers = 0;
  int local_bytes = 0;
  int static_smem_bytes = 0;
  int max_threads_per_block = 0;
  int max_dynamic_smem_bytes = 0;
  bool never_waits = false;       // known to have no griddepcontrol.wait: no PDL
  bool knows_parameters = false;  // drivers before 12.4 do not tell
  std::vector<std::size_t> parameter_bytes;
};

class KernelBinary {
 public:
  static std::shared_ptr<const KernelBinary> from_file(const std::filesystem::path& cubin,
                                                       int device_index) {
    const std::string bytes = detail::read_binary(cubin);
    if (!detail::looks_like_cubin(bytes)) {
      DJ_FAIL(kCache,
              "cuda: load: cubin: given {} with {} bytes.\n"
              "  Rule CUBIN: a cubin is an ELF file.\n"
              "  Fix: remove the cache entry; it is rebuilt.",
              cubin.string(), bytes.size());
    }
    return std::make_shared<const KernelBinary>(bytes, cubin.string(), device_index);
  }

  // `origin` names the bytes in errors.
  KernelBinary(std::string_view bytes, const std::string& origin, int device_index)
      : context_(device_index), prop_(Device(device_index).get_prop()) {
    const RelaxedCaptureScope capture;
    const ContextScope scope(context_);
    const CUresult result = driver::lazy_cuLibraryLoadData(&library_, bytes.data(), nullptr,
                                                           nullptr, 0, nullptr, nullptr, 0);
    if (result != CUDA_SUCCESS) {
      driver::fail(
          result,
          str::format("cuLibraryLoadData of {} on device {} ({}, {})", origin, device_index,
                      prop_->name, arch_name(prop_->major, prop_->minor, false)),
          __FILE__, __LINE__);
    }
    try {
      read_functions(bytes, scope.is_primary());
    } catch (...) {
      driver::lazy_cuLibraryUnload(library_);
      throw;
    }
  }
  ~KernelBinary() { driver::lazy_cuLibraryUnload(library_); }
  KernelBinary(const KernelBinary&) = delete;
  KernelBinary& operator=(const KernelBinary&) = delete;

  const std::vector<KernelFunction>& functions() const { return functions_; }
  const PrimaryContext& context() const { return context_; }
  const DeviceProp& prop() const { return *prop_; }

  const KernelFunction& find(std::string_view name) const {
    for (const KernelFunction& function : functions_)
      if (function.name == name) return function;
    DJ_FAIL(kInvalidArgument,
            "cuda: kernel: name: given '{}'.\n"
            "  Rule KERNEL_NAME: the binary holds {}.\n"
            "  Fix: use one of these names, and declare kernels extern \"C\".",
            name, names());
  }

  std::string names() const {
    std::string text;
    for (const KernelFunction& function : functions_)
      text += (text.empty() ? "'" : ", '") + function.name + "'";
    return text.empty() ? "no kernel" : text;
  }

 private:
  void read_functions(std::string_view bytes, bool is_primary_current) {
    unsigned count = 0;
    DJ_CUDA_DRIVER_CHECK(driver::lazy_cuLibraryGetKernelCount(&count, library_));
    // The driver takes a binary that holds nothing for this GPU, and finds no kernel in it.
    if (count == 0) {
      DJ_FAIL(kDevice,
              "cuda: load: kernel: given a binary without a kernel for device {} ({}, target {}).\n"
              "  Rule BINARY_FITS: the binary was compiled for this device and defines a kernel.\n"
              "  Fix: compile for this device, and declare the kernel extern \"C\" __global__.",
              prop_->index, prop_->name, arch_name(prop_->major, prop_->minor));
    }
    std::vector<CUkernel> kernels(count);
    DJ_CUDA_DRIVER_CHECK(driver::lazy_cuLibraryEnumerateKernels(kernels.data(), count, library_));
    for (const CUkernel kernel : kernels)
      functions_.push_back(read_function(bytes, kernel, is_primary_current));
  }

  KernelFunction read_function(std::string_view bytes, CUkernel kernel,
                               bool is_primary_current) const {
    KernelFunction function;
    function.kernel = kernel;
    const char* name = nullptr;
    DJ_CUDA_DRIVER_CHECK(driver::lazy_cuKernelGetName(&name, kernel));
    function.name = name;
    const auto get = [&](int& value, CUfunction_attribute attribute) {
      DJ_CUDA_DRIVER_CHECK(
          driver::lazy_cuKernelGetAttribute(&value, attribute, kernel, context_.get_device()));
    };
    get(function.num_registers, CU_FUNC_ATTRIBUTE_NUM_REGS);
    get(function.local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    get(function.static_smem_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    get(function.max_threads_per_block, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    function.max_dynamic_smem_bytes = prop_->sharedMemPerBlockOptin - function.static_smem_bytes;
    // Why once and to the limit: an attribute is shared by every launch of the function, so a
    // small launch that lowered it would break a large one beside it. It reserves nothing.
    const auto set = [&](CUfunction_attribute attribute, int value) {
      DJ_CUDA_DRIVER_CHECK(
          driver::lazy_cuKernelSetAttribute(attribute, value, kernel, context_.get_device()));
    };
    set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function.max_dynamic_smem_bytes);
    if (prop_->clusterLaunch != 0) set(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    // Why now: with lazy loading the code would go to the device at the first launch, which is
    // where a capture or a timing must not find it. Skipped in a caller's own context.
    if (is_primary_current)
      DJ_CUDA_DRIVER_CHECK(driver::lazy_cuKernelGetFunction(&function.function, kernel));
    function.never_waits = waits_on_device(bytes, function.name, prop_->major) == false;
    read_parameters(bytes, function);
    return function;
  }

  static void read_parameters(std::string_view bytes, KernelFunction& function) {
    using GetParamInfo = CUresult (*)(CUkernel, std::size_t, std::size_t*, std::size_t*);
    static const auto get_info =
        reinterpret_cast<GetParamInfo>(dlsym(driver::get_library(), "cuKernelGetParamInfo"));
    const auto count = count_parameters(bytes, function.name);
    if (get_info == nullptr || !count) return;
    std::size_t offset = 0, size = 0;
    for (int i = 0; i < *count; ++i) {
      if (get_info(function.kernel, static_cast<std::size_t>(i), &offset, &size) != CUDA_SUCCESS)
        return;
      function.parameter_bytes.push_back(size);
    }
    // None found may also mean that the file says it in a newer way.
    function.knows_parameters = *count > 0;
  }

  PrimaryContext context_;
  std::shared_ptr<const DeviceProp> prop_;
  CUlibrary library_ = nullptr;
  std::vector<KernelFunction> functions_;
};

}  // namespace cuda
}  // namespace DJ_HIDDEN deep_jit
