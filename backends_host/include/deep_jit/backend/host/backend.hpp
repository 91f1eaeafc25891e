// Host: the back end of the machine itself, for Runtime<Host>.
//
//   #include <deep_jit/backend/host/backend.hpp>
//   deep_jit::Runtime<deep_jit::Host> jit(deep_jit::Config("/opt/mylib", "MYLIB"));
//   auto kernel = jit.compile("add", source);
//   jit.launch(kernel, {.grid_dim = 64}, out, a, b, n);
//
// Ties target, toolchain, compiler and loader together; leaves each to its header.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <deep_jit/backend/host/compiler.hpp>
#include <deep_jit/backend/host/device.hpp>
#include <deep_jit/backend/host/kernel.hpp>
#include <deep_jit/backend/host/options.hpp>
#include <deep_jit/backend/host/target.hpp>
#include <deep_jit/backend/host/toolchain.hpp>
#include <deep_jit/runtime/backend_like.hpp>
#include <deep_jit/runtime/runtime.hpp>
#include <deep_jit/utils/env.hpp>
#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {

class Host {
 public:
  using Device = host::Device;
  using Kernel = host::Kernel;
  using CompilerOptions = host::CompilerOptions;
  using LaunchOptions = host::LaunchOptions;

  static constexpr std::string_view kName = "host";

  Host(const Config&, const Env& env) : env_(env) {}

  // "native" is what this processor can do, by name: never -march=native.
  std::string target(const CompilerOptions& options) const {
    const std::string arch = options.arch.value_or("native");
    if (arch == "native" || arch.empty()) return host::native_target();
    for (const char c : arch) {
      if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
          std::string_view("+-._").find(c) != std::string_view::npos)
        continue;
      DJ_FAIL(kInvalidArgument,
              "host: compile: arch: given \"{}\".\n"
              "  Rule TARGET_NAME: a -march name and +features, such as x86-64-v3 or "
              "x86-64-v4+avx512vnni.\n"
              "  Fix: leave it unset for this machine ({}).",
              arch, host::native_target());
    }
    return arch;
  }

  std::string options_key(const CompilerOptions& options) const {
    return host::key_text(host::resolve(options, env_));
  }

  CompilerInfo compiler_info(const CompilerOptions&) const {
    const host::Toolchain toolchain = host::find_compiler(env_);
    const std::string command = str::join(toolchain.command, " ");
    return {host::toolchain_identity(toolchain), command, command};
  }

  std::string build_key(const CompilerOptions& options) const {
    const auto flags = host::compile_flags(host::resolve(options, env_), target(options));
    return str::join(flags, " ") + "\n" + host::compiler_environment();
  }

  // An instruction that the processor lacks would end the process at the first launch.
  void require_runnable(const std::string& target, int) const {
    const std::string missing = host::first_missing(target, host::native_target());
    if (missing.empty()) return;
    DJ_FAIL(kUnsupported,
            "host: compile: arch: given \"{}\".\n"
            "  Rule RUNNABLE_TARGET: this machine is {} and has no {}.\n"
            "  Fix: leave arch unset, or use compile_without_load for another machine.",
            target, host::native_target(), missing);
  }

  std::string compile(const std::string& source, const std::filesystem::path& dir, const Env& env,
                      const Config& config, const CompilerOptions& options) const {
    const host::CompileSettings settings = host::resolve(options, env);
    std::string command = host::compile_source(
        host::find_compiler(env), host::compile_flags(settings, target(options)), source, dir,
        config.include_dirs, settings.dump_asm,
        env.get_or<bool>("JIT_PRINT_COMPILER_COMMAND", false) ||
            env.get_or<bool>("JIT_DEBUG", false));
    if (options.post_hook && *options.post_hook) (*options.post_hook)(dir);
    return command;
  }

  static std::shared_ptr<Kernel> load(const std::filesystem::path& dir, const Env&, int,
                                      std::string_view name) {
    return Kernel::load(dir, name);
  }

 private:
  const Env& env_;
};

static_assert(BackendLike<Host>);

}  // namespace DJ_HIDDEN deep_jit
