// The Ascend back end: what Runtime<Ascend> needs to turn source text into a loaded kernel.
//
//   auto jit = create_lazy_jit<Ascend>(Config(package_root, "DG", "", {include_dir}));
//   auto kernel = jit->compile("add", source);                  // bisheng + ld.lld, or aclrtc
//   jit->launch(kernel, {.grid_dim = 24}, out, a, b, n);        // torch's NPU stream
//   jit->compile_without_load("add", source, {.arch = "dav-2201"});   // no NPU, no CANN runtime
//   puts(jit->backend.report().c_str());                        // what was found, and what to do
//
// Ties compiler_choice.hpp, target.hpp and kernel.hpp together; caching and keys are the core's.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <deep_jit/backend/ascend/compiler_choice.hpp>
#include <deep_jit/backend/ascend/device.hpp>
#include <deep_jit/backend/ascend/kernel.hpp>
#include <deep_jit/backend/ascend/options.hpp>
#include <deep_jit/backend/ascend/target.hpp>
#include <deep_jit/runtime/backend_like.hpp>
#include <deep_jit/runtime/runtime.hpp>

namespace DJ_HIDDEN deep_jit {

class Ascend {
 public:
  static constexpr std::string_view kName = "ascend";
  using Device = ascend::Device;
  using Kernel = ascend::Kernel;
  using CompilerOptions = ascend::CompilerOptions;
  using LaunchOptions = ascend::LaunchOptions;

  Ascend(const Config&, const Env& env)
      : env_(env), choice_(std::make_shared<ascend::CompilerChoice>(env)) {}

  std::string target(const CompilerOptions& options) const {
    if (options.arch && !options.arch->empty()) return ascend::checked_arch(*options.arch);
    return Device(Device::current_index()).get_npu_arch();
  }

  std::string options_key(const CompilerOptions& options) const {
    return ascend::key_text(ascend::resolve(options, env_));
  }

  // The compiler's content; its place is for people.
  CompilerInfo compiler_info(const CompilerOptions&) const {
    const std::shared_ptr<ascend::Compiler> compiler = choice_->get();
    return {compiler->identity(),
            str::format("{} of CANN {}", compiler->name(), compiler->version()),
            compiler->path().string()};
  }

  // Exact flags without paths, and the variables that bisheng, being a Clang, obeys by itself.
  std::string build_key(const CompilerOptions& options) const {
    const auto compiler = choice_->get();
    std::string text =
        str::join(compiler->flags(ascend::resolve(options, env_), target(options)), " ") + "\n";
    for (const char* name :
         {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "CCC_OVERRIDE_OPTIONS"}) {
      const char* value = std::getenv(name);
      if (value != nullptr && *value != '\0') text += str::format("{}={}\n", name, value);
    }
    return text;
  }

  // Throws Unsupported before anything is compiled for a device that could not load it.
  static void require_runnable(const std::string& target, int device_index) {
    const Device device(device_index);
    const std::string own = ascend::arch_of_number(device.get_prop()->npu_arch).empty()
                                ? ascend::arch_of_soc(device.get_soc_name())
                                : device.get_npu_arch();
    // A SoC that neither CANN nor we can name is the caller's to know.
    if (own.empty() || own == target) return;
    DJ_FAIL(kUnsupported,
            "ascend: compile: arch: given {} for device {} ({}).\n"
            "  Rule TARGET_RUNS: this NPU runs {} and nothing else.\n"
            "  Fix: leave arch unset, or use compile_without_load.",
            target, device_index, device.get_soc_name(), own);
  }

  // Writes the artifacts of compiler.hpp into `dir` and returns the command, printable. Throws
  // Toolchain with command and whole log.
  std::string compile(const std::string& source, const std::filesystem::path& dir, const Env& env,
                      const Config& config, const CompilerOptions& options) const {
    const std::shared_ptr<ascend::Compiler> compiler = choice_->get();
    ascend::CompileRequest request;
    request.source = source;
    request.dir = dir;
    request.arch = target(options);
    request.settings = ascend::resolve(options, env);
    request.include_dirs = config.include_dirs;
    request.print_command = env.get_or<bool>("JIT_PRINT_COMPILER_COMMAND", false) ||
                            env.get_or<bool>("JIT_DEBUG", false);
    const ascend::CompileOutput output = compiler->compile(request);
    const std::string toolchain =
        str::format("{} of CANN {}", compiler->name(), compiler->version());
    ascend::detail::write_artifact(dir / ascend::kLogFile, output.log);
    ascend::detail::write_artifact(dir / ascend::kMetadataFile,
                                   ascend::metadata_json(output, request.arch, toolchain));
    if (request.settings.post_hook) request.settings.post_hook(dir);
    return output.command;
  }

  // `name` chooses among several kernels where one is called so.
  static std::shared_ptr<Kernel> load(const std::filesystem::path& dir, const Env&,
                                      int device_index, std::string_view name = {}) {
    return Kernel::load(dir, device_index, name);
  }
  static std::shared_ptr<Kernel> load(const std::filesystem::path& dir, const Env& env) {
    return load(dir, env, Device::current_index());
  }

  // Printable; loads and compiles nothing.
  std::string report() const { return choice_->report(); }

 private:
  Env env_;
  std::shared_ptr<ascend::CompilerChoice> choice_;
};

static_assert(BackendLike<Ascend>);

}  // namespace DJ_HIDDEN deep_jit
