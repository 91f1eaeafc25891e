// A kernel ready to launch on its device: checks in words first, then one driver call.
//
//   auto kernel = jit->compile("vector_add", source);
//   jit->launch(kernel, {.grid_dim = 132, .block_dim = 256}, out, a, b, n);   // torch's stream
//   jit->launch(kernel->by_name("second"), {.stream = stream}, ...);          // several in a
//   binary
//
// Arguments are passed by the address of their storage, as cuLaunchKernel takes them; one derived
// from NoRefPtr passes its own `ptr` instead. Leaves loading to kernel_binary.hpp and the current
// stream to torch_stream.hpp. No per-launch state is written to shared objects.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include <deep_jit/backend/cuda/kernel_binary.hpp>
#include <deep_jit/backend/cuda/options.hpp>
#include <deep_jit/backend/cuda/torch_stream.hpp>
#include <deep_jit/utils/no_ref_ptr.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cuda {

namespace detail {

template <class T>
void* argument_storage(T& argument) {
  if constexpr (is_no_ref_ptr<T>) {
    return const_cast<void*>(static_cast<const void*>(argument.ptr));
  } else {
    return const_cast<void*>(static_cast<const volatile void*>(std::addressof(argument)));
  }
}

// 0: not known, nothing to check.
template <class T>
inline constexpr std::size_t kArgumentBytes = is_no_ref_ptr<T> ? 0 : sizeof(std::remove_cvref_t<T>);

}  // namespace detail

class Kernel {
 public:
  Kernel(std::shared_ptr<const KernelBinary> binary, const KernelFunction* function)
      : binary_(std::move(binary)), function_(function) {}

  // The kernel called `name`, or the only one there is; otherwise by_name() chooses.
  static std::shared_ptr<Kernel> load(const std::filesystem::path& dir, int device_index,
                                      std::string_view name = {}) {
    auto binary = KernelBinary::from_file(dir / kCubinFile, device_index);
    const auto& functions = binary->functions();
    const KernelFunction* chosen = functions.size() == 1 ? &functions.front() : nullptr;
    for (const KernelFunction& function : functions)
      if (function.name == name) chosen = &function;
    return std::make_shared<Kernel>(std::move(binary), chosen);
  }

  std::shared_ptr<Kernel> by_name(std::string_view name) const {
    return std::make_shared<Kernel>(binary_, &binary_->find(name));
  }

  const KernelBinary& get_binary() const { return *binary_; }
  int get_device_index() const { return binary_->context().get_device_index(); }
  const KernelFunction& get_function() const {
    if (function_ == nullptr) [[unlikely]] {
      DJ_FAIL(kInvalidArgument,
              "cuda: launch: kernel: given a binary of several kernels.\n"
              "  Rule KERNEL_NAME: the binary holds {}.\n"
              "  Fix: launch kernel->by_name(\"...\").",
              binary_->names());
    }
    return *function_;
  }

  template <class... Args>
  void launch(const LaunchOptions& options, Args&&... args) const {
    // One more than needed, so that a kernel without parameters has an array too.
    void* storage[] = {detail::argument_storage(args)..., nullptr};
    static constexpr std::array<std::size_t, sizeof...(Args)> kBytes = {
        detail::kArgumentBytes<Args>...};
    launch_storage(options, storage, kBytes.data(), kBytes.size());
  }

  // `argument_bytes` holds one size an argument, 0 where unknown.
  void launch_storage(const LaunchOptions& options, void** storage,
                      const std::size_t* argument_bytes, std::size_t num_arguments) const {
    const KernelFunction& function = get_function();
    check_arguments(function, argument_bytes, num_arguments);
    const Dim3 grid = options.grid_dim.value_or(Dim3());
    const Dim3 block = options.block_dim.value_or(Dim3());
    const Dim3 cluster = options.cluster_dim.value_or(Dim3());
    CUlaunchConfig config{};
    config.gridDimX = grid.x, config.gridDimY = grid.y, config.gridDimZ = grid.z;
    config.blockDimX = block.x, config.blockDimY = block.y, config.blockDimZ = block.z;
    config.sharedMemBytes = static_cast<unsigned>(options.num_smem_bytes.value_or(0));
    check_sizes(function, options, grid, block, cluster);
    config.hStream = options.stream ? *options.stream : current_torch_stream(get_device_index());

    CUlaunchAttribute attributes[3];
    config.attrs = attributes;
    const auto add = [&](CUlaunchAttributeID id) -> CUlaunchAttributeValue& {
      attributes[config.numAttrs].id = id;
      return attributes[config.numAttrs++].value;
    };
    if (cluster.count() > 1) {
      auto& dim = add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim;
      dim.x = cluster.x, dim.y = cluster.y, dim.z = cluster.z;
    }
    if (options.cooperative.value_or(false)) add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
    // Below Hopper launches in a stream never overlap, which is what a kernel may rely on anyway.
    if (options.enable_pdl.value_or(false) && binary_->prop().major >= 9) {
      if (function.never_waits) [[unlikely]]
        refuse(function, options, "enable_pdl", "PDL_WAIT",
               "a kernel that starts before its predecessor ends must wait for it on the device",
               "execute griddepcontrol.wait before the first access to memory that the "
               "predecessor reads or writes, or leave enable_pdl unset");
      add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
          .programmaticStreamSerializationAllowed = 1;
    }

    const ContextScope scope(binary_->context());
    const bool fast = scope.is_primary() && function.function != nullptr;
    const CUfunction handle =
        fast ? function.function : reinterpret_cast<CUfunction>(function.kernel);
    const CUresult result = driver::lazy_cuLaunchKernelEx(&config, handle, storage, nullptr);
    if (result != CUDA_SUCCESS) [[unlikely]]
      fail_launch(result, function, options, config.hStream);
  }

 private:
  static std::string describe_launch(const KernelFunction& function, const LaunchOptions& options) {
    return str::format(
        "kernel '{}', grid {}, block {}, cluster {}, {} bytes of shared memory{}{}", function.name,
        describe(options.grid_dim.value_or(Dim3())), describe(options.block_dim.value_or(Dim3())),
        describe(options.cluster_dim.value_or(Dim3())), options.num_smem_bytes.value_or(0),
        options.cooperative.value_or(false) ? ", cooperative" : "",
        options.enable_pdl.value_or(false) ? ", PDL" : "");
  }

  [[noreturn]] void fail_launch(CUresult result, const KernelFunction& function,
                                const LaunchOptions& options, CUstream stream) const {
    driver::fail(result,
                 str::format("cuLaunchKernelEx of {}, on device {} and stream {}",
                             describe_launch(function, options), get_device_index(),
                             static_cast<const void*>(stream)),
                 __FILE__, __LINE__);
  }

  [[noreturn]] static void refuse(const KernelFunction& function, const LaunchOptions& options,
                                  std::string_view argument, std::string_view rule,
                                  const std::string& sentence, std::string_view fix) {
    DJ_FAIL(kInvalidArgument, "cuda: launch: {}: given {}.\n  Rule {}: {}.\n  Fix: {}.", argument,
            describe_launch(function, options), rule, sentence, fix);
  }

  // A short argument would be read past its end. A long one is what callers that pass int64_t for
  // an int rely on, and is left alone.
  static void check_arguments(const KernelFunction& function, const std::size_t* argument_bytes,
                              std::size_t num_arguments) {
    if (!function.knows_parameters) return;
    const auto& wanted = function.parameter_bytes;
    if (num_arguments != wanted.size()) [[unlikely]] {
      DJ_FAIL(kInvalidArgument,
              "cuda: launch: arguments: given {} for kernel '{}'.\n"
              "  Rule ARGUMENT_COUNT: it has {} parameters.\n"
              "  Fix: pass one argument a parameter.",
              num_arguments, function.name, wanted.size());
    }
    for (std::size_t i = 0; i < num_arguments; ++i) {
      if (argument_bytes[i] == 0 || argument_bytes[i] >= wanted[i]) continue;
      DJ_FAIL(kInvalidArgument,
              "cuda: launch: arguments[{}]: given {} bytes for kernel '{}'.\n"
              "  Rule ARGUMENT_BYTES: this parameter has {} bytes.\n"
              "  Fix: pass exactly the type that the kernel declares.",
              i, argument_bytes[i], function.name, wanted[i]);
    }
  }

  void check_sizes(const KernelFunction& function, const LaunchOptions& options, const Dim3& grid,
                   const Dim3& block, const Dim3& cluster) const {
    const int num_smem_bytes = options.num_smem_bytes.value_or(0);
    if (num_smem_bytes < 0 || num_smem_bytes > function.max_dynamic_smem_bytes) [[unlikely]] {
      refuse(function, options, "num_smem_bytes", "LAUNCH_SMEM",
             str::format("a block has 0 .. {} bytes beside the kernel's own {}",
                         function.max_dynamic_smem_bytes, function.static_smem_bytes),
             "use fewer stages or a smaller tile");
    }
    if (block.count() == 0 ||
        block.count() > static_cast<std::uint64_t>(function.max_threads_per_block)) [[unlikely]] {
      refuse(function, options, "block_dim", "LAUNCH_BLOCK",
             str::format("this kernel runs 1 .. {} threads a block ({} registers each)",
                         function.max_threads_per_block, function.num_registers),
             "use the block size of its __launch_bounds__");
    }
    if (grid.count() == 0 || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
        [[unlikely]] {
      refuse(function, options, "grid_dim", "LAUNCH_GRID",
             "a grid has 1 .. 2^31-1 by 1 .. 65535 by 1 .. 65535 blocks",
             "return before the launch when there is nothing to do");
    }
    if (cluster.count() == 1) [[likely]]
      return;
    if (binary_->prop().clusterLaunch == 0)
      refuse(function, options, "cluster_dim", "LAUNCH_CLUSTER", "clusters need compute 9.0",
             "launch without a cluster on this device");
    const bool nonportable = options.nonportable_cluster_size_allowed.value_or(false);
    if (cluster.count() == 0 || cluster.count() > (nonportable ? 16u : 8u))
      refuse(function, options, "cluster_dim", "LAUNCH_CLUSTER",
             str::format("a cluster has 1 .. {} blocks", nonportable ? 16 : 8),
             "set nonportable_cluster_size_allowed for up to 16, where the device can");
    if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0)
      refuse(function, options, "cluster_dim", "LAUNCH_CLUSTER", "clusters tile the grid exactly",
             "round the grid up and let surplus blocks return");
  }

  std::shared_ptr<const KernelBinary> binary_;
  const KernelFunction* function_ = nullptr;
};

}  // namespace cuda
}  // namespace DJ_HIDDEN deep_jit
