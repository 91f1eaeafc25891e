// nvcc as a subprocess: an argument vector, never a shell; its whole output kept.
//
//   cuda::NvccCompiler compiler(*cuda::find_nvcc(places).chosen());
//   compiler.knows_arch("100f");               // a dry run, once per target
//   auto out = compiler.compile(request);      // request.dir holds kernel.cu and kernel.cubin
//   after
//
// Needs a host compiler, also for a cubin; nvcc's own words about a missing one are in the error.
// Leaves the search to toolkit_search.hpp and flags to compiler_flags.hpp.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <deep_jit/backend/cuda/compiler.hpp>
#include <deep_jit/backend/cuda/compiler_flags.hpp>
#include <deep_jit/backend/cuda/toolkit.hpp>
#include <deep_jit/utils/command.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cuda {

class NvccCompiler final : public Compiler {
 public:
  // Spawns `nvcc --version` only for a wrapper script or where no header tells the release. Throws
  // Toolchain when the program does not answer or is too old.
  explicit NvccCompiler(Candidate candidate) : candidate_(std::move(candidate)) {
    if (candidate_.version == 0) candidate_.version = ask_version();
    if (candidate_.version < kOldestToolkit) {
      refuse(str::format("release {} is older than {}", version_text(candidate_.version),
                         version_text(kOldestToolkit)));
    }
    std::error_code error;
    const auto real = std::filesystem::canonical(candidate_.path, error);
    const auto bin = (error ? candidate_.path : real).parent_path();
    // A wrapper script says nothing about what it runs: what that answers does.
    identity_ =
        is_elf64(candidate_.path) ? file_identity(candidate_.path) : sha256_hex(run_version());
    for (const auto& program : {bin / "ptxas", bin / "cudafe++", bin / "../nvvm/bin/cicc"})
      if (detail::has_file(program)) identity_ += "; " + file_identity(program);
  }

  std::string name() const override { return "nvcc"; }
  std::filesystem::path path() const override { return candidate_.path; }
  std::string version() const override { return version_text(candidate_.version); }
  std::string identity() const override { return str::format("nvcc {} {}", version(), identity_); }

  bool knows_arch(const std::string& arch) override {
    const std::lock_guard lock(mutex_);
    const auto known = archs_.find(arch);
    if (known != archs_.end()) return known->second;
    const CommandResult result =
        run_command({candidate_.path.string(), "--dryrun", "-x", "cu", "-cubin",
                     str::format("-gencode=arch=compute_{},code=sm_{}", arch, arch), "-o",
                     "/dev/null", "/dev/null"});
    return archs_[arch] = result.ok();
  }

  CompileOutput compile(const CompileRequest& request) override {
    const std::filesystem::path source = request.dir / kSourceFile;
    const std::filesystem::path cubin = request.dir / kCubinFile;
    detail::write_text(source, request.source);
    CompileOutput output;
    output.log = run(request, "-cubin", source, cubin, output.command);
    output.cubin = detail::read_binary(cubin);
    if (!detail::looks_like_cubin(output.cubin)) {
      fail_compile("nvcc", output.command,
                   str::format("exit 0 but {} bytes that are no cubin", output.cubin.size()),
                   output.log, "check that this program is nvcc, and that the disk has space.");
    }
    if (request.settings.dump_ptx) {
      std::string command;
      const std::filesystem::path ptx = request.dir / kPtxFile;
      run(request, "-ptx", source, ptx, command);
      output.ptx = detail::read_binary(ptx);
    }
    return output;
  }

 private:
  std::string run(const CompileRequest& request, const char* kind,
                  const std::filesystem::path& source, const std::filesystem::path& target,
                  std::string& command) {
    std::vector<std::string> argv = {candidate_.path.string()};
    for (std::string& flag : nvcc_arguments(request.settings, request.arch)) {
      // PTX has no real architecture: ask for the virtual one alone.
      if (std::string_view(kind) == "-ptx" && flag.rfind("-gencode=", 0) == 0)
        flag = "-arch=compute_" + request.arch;
      argv.push_back(std::move(flag));
    }
    for (const auto& dir : request.include_dirs) argv.push_back("-I" + dir.string());
    for (const std::string& word :
         {std::string(kind), std::string("-o"), target.string(), source.string()}) {
      argv.push_back(word);
    }
    command = str::join(argv, " ");
    if (request.print_command) std::fprintf(stderr, "%s\n", command.c_str());
    const CommandResult result = run_command(argv);
    if (!result.ok()) {
      // What a killed compiler left must not be taken for an artifact by anyone.
      std::error_code ignored;
      std::filesystem::remove(target, ignored);
      fail_compile("nvcc", command, result.describe(), result.output,
                   "correct the source, or set JIT_COMPILER=nvrtc, which needs no host compiler.");
    }
    return result.output;
  }

  std::string run_version() const {
    const CommandResult result = run_command({candidate_.path.string(), "--version"});
    if (!result.ok())
      refuse(str::format("--version ended with {}: {}", result.describe(), result.output));
    return result.output;
  }

  int ask_version() const {
    const std::string output = run_version();
    const std::size_t at = output.find("release ");
    const int version = at == std::string::npos
                            ? 0
                            : detail::parse_version(std::string_view(output).substr(at + 8));
    if (version == 0) refuse(str::format("--version says no release: {}", output));
    return version;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    DJ_FAIL(kToolchain,
            "cuda: nvcc: given {} ({}): {}.\n"
            "  Rule NVCC_RUNS: nvcc answers --version with release {} or newer.\n"
            "  Fix: set JIT_NVCC_COMPILER or CUDA_HOME to a newer toolkit, or pip install "
            "nvidia-cuda-nvrtc.",
            candidate_.path.string(), candidate_.origin, why, version_text(kOldestToolkit));
  }

  Candidate candidate_;
  std::string identity_;
  std::mutex mutex_;
  std::map<std::string, bool> archs_;
};

}  // namespace cuda
}  // namespace DJ_HIDDEN deep_jit
