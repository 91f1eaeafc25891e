// The CUDA back end: what Runtime<CUDA> needs to turn source text into a loaded kernel.
//
//   auto jit = create_lazy_jit<CUDA>(Config(package_root, "DG", "", {include_dir}));
//   auto kernel = jit->compile("vector_add", source);            // NVRTC or nvcc, whichever serves
//   jit->launch(kernel, {.grid_dim = 4, .block_dim = 256}, out, a, b, n);
//   jit->compile_without_load("vector_add", source, {.arch = "90a"});    // no GPU, no driver
//   puts(jit->backend.report().c_str());                         // what was found, and what to do
//
// Ties compiler_choice.hpp, target.hpp and kernel.hpp together; caching and keys are the core's.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <deep_jit/backend/cuda/compiler_choice.hpp>
#include <deep_jit/backend/cuda/device.hpp>
#include <deep_jit/backend/cuda/kernel.hpp>
#include <deep_jit/backend/cuda/options.hpp>
#include <deep_jit/backend/cuda/target.hpp>
#include <deep_jit/runtime/backend_like.hpp>

namespace DJ_HIDDEN deep_jit {

class CUDA {
 public:
  static constexpr std::string_view kName = "cuda";
  using Device = cuda::Device;
  using Kernel = cuda::Kernel;
  using CompilerOptions = cuda::CompilerOptions;
  using LaunchOptions = cuda::LaunchOptions;

  CUDA(const Config& config, const Env& env)
      : env_(env), choice_(std::make_shared<cuda::CompilerChoice>(config, env)) {}

  std::string target(const CompilerOptions& options) const {
    if (options.arch && !options.arch->empty()) return cuda::checked_arch(*options.arch);
    return target_of(Device(Device::current_index()));
  }

  // Without a compiler the family's name: what a pack for such a machine was made for.
  std::string target_of(const Device& device) const {
    return cuda::device_arch(device.get_arch_major(), device.get_arch_minor(),
                             [&](const std::string& arch) { return knows_arch(arch); });
  }

  std::string options_key(const CompilerOptions& options) const {
    return cuda::key_text(cuda::resolve(options, env_));
  }

  // The compiler's content; its place is for people.
  CompilerInfo compiler_info(const CompilerOptions&) const {
    const std::shared_ptr<cuda::Compiler> compiler = choice_->get();
    CompilerInfo info;
    info.identity = compiler->identity();
    info.version = compiler->name() + " " + compiler->version();
    info.path = compiler->path().string();
    return info;
  }

  // Exact flags (folders are not among them) and the variables that nvcc obeys by itself.
  std::string build_key(const CompilerOptions& options) const {
    const bool is_nvcc = choice_->get()->name() == "nvcc";
    const cuda::CompileSettings settings = cuda::resolve(options, env_);
    const auto flags =
        is_nvcc ? cuda::nvcc_arguments(settings, "") : cuda::nvrtc_arguments(settings, "");
    std::string text = str::join(flags, " ") + "\n";
    if (!is_nvcc) return text;
    for (const char* name :
         {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "CPATH", "CPLUS_INCLUDE_PATH"}) {
      const std::string value = cuda::detail::getenv_text(name);
      if (!value.empty()) text += str::format("{}={}\n", name, value);
    }
    return text;
  }

  // Throws Unsupported before anything is compiled for a device that could not load it.
  static void require_runnable(const std::string& target, int device_index) {
    const Device device(device_index);
    const auto [major, minor] = device.get_arch_pair();
    if (cuda::can_run(target, major, minor)) return;
    DJ_FAIL(kUnsupported,
            "cuda: compile: arch: given {} for device {} ({}, compute {}.{}).\n"
            "  Rule TARGET_RUNS: a device runs its own target, its family's, and plain ones of its "
            "major that are not newer.\n"
            "  Fix: leave arch unset for {}, or use compile_without_load.",
            target, device_index, device.get_prop()->name, major, minor, device.get_arch());
  }

  // Writes the artifacts of compiler.hpp into `dir` and returns the command, printable. Throws
  // Toolchain with command and whole log.
  std::string compile(std::string_view source, const std::filesystem::path& dir, const Env& env,
                      const Config& config, const CompilerOptions& options) const {
    const std::shared_ptr<cuda::Compiler> compiler = choice_->get_prepared();
    cuda::CompileRequest request;
    request.source = source;
    request.dir = dir;
    request.arch = target(options);
    request.settings = cuda::resolve(options, env);
    for (const auto& include_dir : config.include_dirs) request.include_dirs.push_back(include_dir);
    request.print_command = env.get<bool>("JIT_PRINT_COMPILER_COMMAND").value_or(false) ||
                            env.get<bool>("JIT_DEBUG").value_or(false);
    const cuda::CompileOutput output = run(*compiler, request);
    if (request.settings.ptxas_verbose) std::fprintf(stderr, "%s\n", output.log.c_str());
    cuda::check_resources(request.settings, output.log);
    cuda::detail::write_text(dir / cuda::kSourceFile, request.source);
    cuda::detail::write_text(dir / cuda::kCubinFile, output.cubin);
    cuda::detail::write_text(dir / cuda::kLogFile, output.log);
    if (!output.ptx.empty()) cuda::detail::write_text(dir / cuda::kPtxFile, output.ptx);
    if (request.settings.dump_sass) dump_sass(dir);
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
  bool knows_arch(const std::string& arch) const {
    try {
      return choice_->get_prepared()->knows_arch(arch);
    } catch (const exception::Exception& error) {
      if (error.kind() == exception::Kind::kToolchain) return true;
      throw;
    }
  }

  // Whether the target is known is asked only after a failure: it is nearly always.
  static cuda::CompileOutput run(cuda::Compiler& compiler, const cuda::CompileRequest& request) {
    try {
      return compiler.compile(request);
    } catch (const exception::Exception& error) {
      if (error.kind() != exception::Kind::kToolchain || compiler.knows_arch(request.arch)) throw;
    }
    const std::string& arch = request.arch;
    DJ_FAIL(kToolchain,
            "cuda: compile: arch: given {}.\n"
            "  Rule TARGET_KNOWN: {} {} ({}) does not know this target.\n"
            "  Fix: use a newer compiler; 12.8 has no family targets, use {}a there.",
            arch, compiler.name(), compiler.version(), compiler.path().string(),
            arch.substr(0, arch.find_first_not_of("0123456789")));
  }

  // A dump that has no tool is said and skipped: the kernel is as good without it.
  void dump_sass(const std::filesystem::path& dir) const {
    for (const std::filesystem::path& tool : disassemblers()) {
      const bool is_cuobjdump = tool.filename() == "cuobjdump";
      std::vector<std::string> argv = {tool.string()};
      if (is_cuobjdump) argv.push_back("-sass");
      argv.push_back((dir / cuda::kCubinFile).string());
      const CommandResult result = run_command(argv);
      if (result.ok()) {
        cuda::detail::write_text(dir / cuda::kSassFile, result.output);
        return;
      }
    }
    std::fprintf(stderr,
                 "cuda: dump_sass: no working cuobjdump or nvdisasm found; pip install "
                 "nvidia-cuda-cuobjdump, or put one on PATH\n");
  }

  std::vector<std::filesystem::path> disassemblers() const {
    std::vector<std::filesystem::path> tools;
    const cuda::SearchPlaces& places = choice_->places();
    for (const char* name : {"cuobjdump", "nvdisasm"}) {
      const auto add = [&](const std::filesystem::path& bin) {
        if (cuda::detail::has_file(bin / name)) tools.push_back(bin / name);
      };
      for (const auto& root : places.named_roots) add(root.path / "bin");
      for (const auto& site : places.site_dirs)
        for (const auto& package : cuda::detail::list_dir(site / "nvidia")) add(package / "bin");
      for (const auto& dir : places.path_dirs) add(dir);
      for (const auto& root : places.default_roots) add(root.path / "bin");
    }
    return tools;
  }

  Env env_;
  std::shared_ptr<cuda::CompilerChoice> choice_;
};

static_assert(BackendLike<CUDA>);

}  // namespace DJ_HIDDEN deep_jit
