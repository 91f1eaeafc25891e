// A kernel ready to launch on its device: checks in words first, then one ACL call.
//
//   auto kernel = jit->compile("add", source);                       // extern "C" __global__
//   jit->launch(kernel, {.grid_dim = 24}, out, a, b, n);             // torch's NPU stream
//   jit->launch(kernel->by_name("second"), {.stream = stream}, ...); // several in a binary
//
// Arguments are packed into one block (argument_block.hpp) that the runtime copies before it
// returns, or handed over by address with use_args_array; an argument derived from NoRefPtr, whose
// size is not known, makes it the latter. Leaves loading to kernel_binary.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <deep_jit/backend/ascend/argument_block.hpp>
#include <deep_jit/backend/ascend/kernel_binary.hpp>
#include <deep_jit/backend/ascend/options.hpp>
#include <deep_jit/backend/ascend/torch_stream.hpp>
#include <deep_jit/utils/no_ref_ptr.hpp>

namespace DJ_HIDDEN deep_jit {
namespace ascend {

namespace detail {

template <class T>
void* argument_storage(T& argument) {
  if constexpr (is_no_ref_ptr<T>) {
    return const_cast<void*>(static_cast<const void*>(argument.ptr));
  } else {
    return const_cast<void*>(static_cast<const volatile void*>(std::addressof(argument)));
  }
}

}  // namespace detail

class Kernel {
 public:
  Kernel(std::shared_ptr<const KernelBinary> binary, const KernelFunction* function)
      : binary_(std::move(binary)), function_(function) {}

  // The kernel called `name`, or the only one there is; otherwise by_name() chooses.
  static std::shared_ptr<Kernel> load(const std::filesystem::path& dir, int device_index,
                                      std::string_view name = {}) {
    return choose(KernelBinary::from_file(dir / kBinaryFile, device_index), name);
  }
  static std::shared_ptr<Kernel> from_memory(std::string_view bytes, int device_index,
                                             std::string_view name = {}) {
    return choose(KernelBinary::from_memory(bytes, device_index), name);
  }

  std::shared_ptr<Kernel> by_name(std::string_view name) const {
    return std::make_shared<Kernel>(binary_, &binary_->find(name));
  }

  const KernelBinary& get_binary() const { return *binary_; }
  int get_device_index() const { return binary_->get_device_index(); }
  const KernelFunction& get_function() const {
    if (function_ == nullptr) [[unlikely]] {
      DJ_FAIL(kInvalidArgument,
              "ascend: launch: kernel: given a binary of several kernels.\n"
              "  Rule KERNEL_NAME: the binary holds {}.\n"
              "  Fix: launch kernel->by_name(\"...\").",
              binary_->names());
    }
    return *function_;
  }
  const std::string& get_name() const { return get_function().name; }

  template <class... Args>
  void launch(const LaunchOptions& options, Args&&... args) const {
    constexpr bool kMustUseArray = (is_no_ref_ptr<Args> || ...);
    if constexpr (!kMustUseArray) {
      if (!options.use_args_array.value_or(false)) {
        auto block = pack_arguments(args...);
        return launch_block(options, block.data(), block.size());
      }
    } else if (!options.use_args_array.value_or(true)) {
      DJ_FAIL(kInvalidArgument,
              "ascend: launch: use_args_array: given false for kernel '{}'.\n"
              "  Rule ARGUMENT_BYTES: the size behind a NoRefPtr is not known, so it cannot be "
              "packed.\n"
              "  Fix: leave use_args_array unset.",
              get_name());
    }
    // One more than needed, so that a kernel without parameters has an array too.
    void* storage[] = {detail::argument_storage(args)..., nullptr};
    launch_array(options, storage);
  }

  // `block` is laid out as in argument_block.hpp and may be reused when this returns.
  void launch_block(const LaunchOptions& options, void* block, std::size_t num_bytes) const {
    run(options, "aclrtLaunchKernelWithHostArgs",
        [&](aclrtFuncHandle function, std::uint32_t grid, aclrtStream stream,
            aclrtLaunchKernelCfg* config) {
          return driver::lazy_aclrtLaunchKernelWithHostArgs(function, grid, stream, config, block,
                                                            num_bytes, nullptr, std::size_t{0});
        });
  }

  void launch_array(const LaunchOptions& options, void** storage) const {
    run(options, "aclrtLaunchKernelWithArgsArray",
        [&](aclrtFuncHandle function, std::uint32_t grid, aclrtStream stream,
            aclrtLaunchKernelCfg* config) {
          return driver::lazy_aclrtLaunchKernelWithArgsArray(function, grid, stream, config,
                                                             storage);
        });
  }

 private:
  static std::shared_ptr<Kernel> choose(std::shared_ptr<const KernelBinary> binary,
                                        std::string_view name) {
    const auto& functions = binary->functions();
    const KernelFunction* chosen = functions.size() == 1 ? &functions.front() : nullptr;
    for (const KernelFunction& function : functions)
      if (function.name == name) chosen = &function;
    return std::make_shared<Kernel>(std::move(binary), chosen);
  }

  template <class Call>
  void run(const LaunchOptions& options, std::string_view what, const Call& call) const {
    const KernelFunction& function = get_function();
    const std::int64_t grid = options.grid_dim.value_or(1);
    check(function, options, grid);
    const aclrtStream stream =
        options.stream ? *options.stream : current_torch_stream(get_device_index());
    aclrtLaunchKernelAttr attributes[3] = {};
    aclrtLaunchKernelCfg config{attributes, 0};
    const auto add = [&](aclrtLaunchKernelAttrId id) -> aclrtLaunchKernelAttrValue& {
      attributes[config.numAttrs].id = id;
      return attributes[config.numAttrs++].value;
    };
    if (options.schedule_together)
      add(ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE).schemMode = *options.schedule_together ? 1 : 0;
    if (options.num_ub_bytes)
      add(ACL_RT_LAUNCH_KERNEL_ATTR_DYN_UBUF_SIZE).dynUBufSize =
          static_cast<std::uint32_t>(*options.num_ub_bytes);
    if (options.timeout_us) {
      const auto time = static_cast<std::uint64_t>(*options.timeout_us);
      add(ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US).timeoutUs = {
          static_cast<std::uint32_t>(time), static_cast<std::uint32_t>(time >> 32)};
    }
    const DeviceScope scope(get_device_index());
    binary_->note_launch();
    const aclError result = call(function.handle, static_cast<std::uint32_t>(grid), stream,
                                 config.numAttrs == 0 ? nullptr : &config);
    if (result == ACL_SUCCESS) [[likely]]
      return;
    driver::fail(result,
                 str::format("{} of kernel '{}', {} blocks, on device {} and stream {}", what,
                             function.name, grid, get_device_index(), stream),
                 __FILE__, __LINE__);
  }

  void check(const KernelFunction& function, const LaunchOptions& options,
             std::int64_t grid) const {
    const auto refuse = [&](std::string_view argument, std::int64_t given, std::string_view rule,
                            const std::string& sentence, std::string_view fix) {
      DJ_FAIL(kInvalidArgument,
              "ascend: launch: {}: given {} for kernel '{}'.\n  Rule {}: {}.\n  Fix: {}.", argument,
              given, function.name, rule, sentence, fix);
    };
    // 0: this CANN does not say.
    const std::int64_t told = binary_->device().get_prop()->max_blocks;
    const std::int64_t most = told > 0 ? told : std::numeric_limits<std::int32_t>::max();
    if (grid < 1 || grid > most) [[unlikely]]
      refuse("grid_dim", grid, "LAUNCH_GRID", str::format("a launch has 1 .. {} blocks", most),
             "return before the launch when there is nothing to do");
    const std::int64_t bytes = options.num_ub_bytes.value_or(0);
    const std::int64_t room = binary_->device().get_num_ub_bytes();
    if (bytes < 0 || (room > 0 && bytes > room) || bytes > 0xffffffff) [[unlikely]]
      refuse("num_ub_bytes", bytes, "LAUNCH_UB",
             str::format("a vector core has {} bytes of unified buffer", room),
             "use a smaller tile");
    const std::int64_t time = options.timeout_us.value_or(1);
    if (time < 1) [[unlikely]]
      refuse("timeout_us", time, "LAUNCH_TIMEOUT", "a time limit is at least one microsecond",
             "leave it unset for the runtime's own");
  }

  std::shared_ptr<const KernelBinary> binary_;
  const KernelFunction* function_ = nullptr;
};

}  // namespace ascend
}  // namespace DJ_HIDDEN deep_jit
