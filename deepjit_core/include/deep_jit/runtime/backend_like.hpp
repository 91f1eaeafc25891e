// What a back end offers to Runtime<Backend>: four types, six functions.
//
//   struct Mine {
//     struct Device { explicit Device(int index); static int current_index(); };
//     struct Kernel { template <class... A> void launch(const LaunchOptions&, A&&...) const; };
//     ...
//   };
//   static_assert(deep_jit::BackendLike<Mine>);
//
// Optional members, used where they exist:
//   kName                             text that keeps keys of two back ends apart
//   build_key(options)                exact flags without paths, variables that the compiler reads
//   require_runnable(target, index)   throws Unsupported when that device cannot run the target
//   load(dir, env, index, name)       load with the name of the kernel, instead of without
// compile() may return the printable command for the manifest.
// Leaves the order in which these are called to runtime.hpp.
#pragma once

#include <concepts>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <deep_jit/runtime/config.hpp>
#include <deep_jit/utils/env.hpp>
#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {

struct CompilerInfo {
  std::string identity;  // content, not place: enters the build digest
  std::string version;   // for people: "g++ 12.2.0"
  std::string path;      // where it is now; enters nothing
};

template <class B>
concept BackendLike =
    requires {
      typename B::Device;
      typename B::Kernel;
      typename B::CompilerOptions;
      typename B::LaunchOptions;
    } &&
    // Built from the two; touches no device and spawns nothing.
    std::constructible_from<B, const Config&, const Env&> &&
    // The device of an index, and the index that the calling thread would run on.
    std::constructible_from<typename B::Device, int> &&
    requires {
      { B::Device::current_index() } -> std::convertible_to<int>;
    } &&
    requires(B& backend, const typename B::CompilerOptions& options,
             const typename B::LaunchOptions& launch, std::string_view source,
             const std::filesystem::path& dir, const Env& env, const Config& config) {
      // Options' arch, else the device's; throws Device only when neither is there.
      { backend.target(options) } -> std::convertible_to<std::string>;
      // Values of the options alone, no paths: enters the request digest.
      { backend.options_key(options) } -> std::convertible_to<std::string>;
      // The compiler that would be used; throws Toolchain where there is none. Spawns at most once.
      { backend.compiler_info(options) } -> std::convertible_to<CompilerInfo>;
      // Writes artifacts into dir; throws Toolchain with argv, exit and the whole log.
      backend.compile(std::string(source), dir, env, config, options);
      { options.override_with(options) } -> std::convertible_to<typename B::CompilerOptions>;
      { launch.override_with(launch) } -> std::convertible_to<typename B::LaunchOptions>;
    } &&
    // Loads from an entry's folder for the device of this index.
    (
        requires(const std::filesystem::path& dir, const Env& env, int index) {
          { B::load(dir, env, index) } -> std::convertible_to<std::shared_ptr<typename B::Kernel>>;
        } ||
        requires(const std::filesystem::path& dir, const Env& env, int index,
                 std::string_view name) {
          {
            B::load(dir, env, index, name)
          } -> std::convertible_to<std::shared_ptr<typename B::Kernel>>;
        });

}  // namespace DJ_HIDDEN deep_jit
