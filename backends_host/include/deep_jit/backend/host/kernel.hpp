// A kernel in memory: one C entry of a shared object, run over a grid of blocks.
//
//   extern "C" void add(const DjHostBlock* block, void* const* args);   // in the source
//   auto kernel = jit->compile("add", source);
//   jit->launch(kernel, {.grid_dim = 64, .num_threads = 4}, out, a, n);
//
// args[i] is the address of the i-th argument's storage, as cuLaunchKernel takes them; an argument
// derived from NoRefPtr passes its own `ptr` instead. launch() returns when all blocks are done.
// An exception that leaves the entry ends the process. Leaves threads to thread_pool.hpp.
#pragma once

#include <dlfcn.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <deep_jit/backend/host/compiler.hpp>
#include <deep_jit/backend/host/device.hpp>
#include <deep_jit/backend/host/options.hpp>
#include <deep_jit/backend/host/thread_pool.hpp>
#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/no_ref_ptr.hpp>

namespace DJ_HIDDEN deep_jit {
namespace host {

namespace detail {

template <class T>
void* argument_storage(T& argument) {
  if constexpr (std::is_base_of_v<NoRefPtr, std::remove_cvref_t<T>>) {
    return const_cast<void*>(static_cast<const void*>(argument.ptr));
  } else {
    return const_cast<void*>(static_cast<const volatile void*>(std::addressof(argument)));
  }
}

}  // namespace detail

class Kernel {
 public:
  using Entry = void (*)(const DjHostBlock* block, void* const* args);

  // Throws Toolchain when the loader refuses the file or the entry is not in it.
  static std::shared_ptr<Kernel> load(const std::filesystem::path& dir, std::string_view name) {
    const std::string path = (dir / kBinaryFile).string();
    void* handle = dlopen(path.c_str(), RTLD_LOCAL | RTLD_NOW);
    if (handle == nullptr) {
      const char* reason = dlerror();
      DJ_FAIL(kToolchain,
              "host: load: {}: given {}.\n"
              "  Rule LOADABLE: the system's loader takes the file; it says: {}\n"
              "  Fix: define or link what is missing; mount the cache without noexec.",
              name, path, reason == nullptr ? "nothing" : reason);
    }
    auto entry = reinterpret_cast<Entry>(dlsym(handle, std::string(name).c_str()));
    if (entry == nullptr) {
      dlclose(handle);
      DJ_FAIL(kToolchain,
              "host: load: {}: given {}.\n"
              "  Rule KERNEL_NAME: the source defines extern \"C\" void {}(const DjHostBlock*, "
              "void* const*).\n"
              "  Fix: give the entry the name that compile() is called with.",
              name, path, name);
    }
    return std::make_shared<Kernel>(handle, entry, std::string(name));
  }

  Kernel(void* handle, Entry entry, std::string name)
      : handle_(handle), entry_(entry), name_(std::move(name)) {}
  ~Kernel() { dlclose(handle_); }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  const std::string& get_name() const { return name_; }

  template <class... Args>
  void launch(const LaunchOptions& options, Args&&... args) const {
    // One more than needed, so that a kernel without parameters has an array too.
    void* storage[] = {detail::argument_storage(args)..., nullptr};
    launch_storage(options, storage);
  }

  void launch_storage(const LaunchOptions& options, void* const* storage) const {
    const Dim3 grid = options.grid_dim.value_or(Dim3());
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.z > kMaxBlocks / grid.y / grid.x)
        [[unlikely]] {
      DJ_FAIL(kInvalidArgument,
              "host: launch: grid_dim: given ({}, {}, {}) for kernel '{}'.\n"
              "  Rule LAUNCH_GRID: a grid has 1 .. 2^62 blocks.\n"
              "  Fix: return before the launch when there is nothing to do.",
              grid.x, grid.y, grid.z, name_);
    }
    std::uint32_t num_threads = options.num_threads.value_or(0);
    if (num_threads == 0) num_threads = Device::default_num_threads();
    Call call{entry_, storage};
    ThreadPool::shared().run(
        {grid.x, grid.y, grid.z}, num_threads,
        [](const DjHostBlock& block, void* context) {
          const Call& work = *static_cast<const Call*>(context);
          work.entry(&block, work.args);
        },
        &call);
  }

 private:
  static constexpr std::uint64_t kMaxBlocks = std::uint64_t{1} << 62;

  struct Call {
    Entry entry;
    void* const* args;
  };

  void* handle_;
  Entry entry_;
  std::string name_;
};

}  // namespace host
}  // namespace DJ_HIDDEN deep_jit
