// Source to device ELF through CANN's programs: bisheng compiles, the toolkit's ld.lld links.
//
//   ascend::BishengCompiler compiler(toolkit);                  // of toolkit.hpp
//   compiler.compile({.source = text, .dir = dir, .arch = "dav-2201", .settings = settings});
//   ascend::bisheng_flags(settings, "dav-2201");                // text alone, tested as such
//
// Argument vectors, never a shell. Leaves the search to toolkit.hpp.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <deep_jit/backend/ascend/compiler.hpp>
#include <deep_jit/backend/ascend/toolkit.hpp>
#include <deep_jit/utils/command.hpp>

namespace DJ_HIDDEN deep_jit {
namespace ascend {

inline constexpr const char* kRelocatableFile = "kernel.reloc.o";

// The settings that mean the same to both compilers.
inline std::vector<std::string> common_flags(const CompileSettings& settings,
                                             std::string_view arch) {
  std::vector<std::string> flags = {str::format("--npu-arch={}", arch)};
  if (settings.enable_simt) flags.emplace_back("--enable-simt");
  if (settings.stack_bytes != 0) {
    flags.emplace_back("-mllvm");
    flags.push_back(str::format("-cce-aicore-stack-size={:#x}", settings.stack_bytes));
  }
  if (settings.with_line_info) flags.emplace_back("-g");
  for (std::string& flag : detail::split_flags(settings.extra_bisheng_flags))
    flags.push_back(std::move(flag));
  return flags;
}

inline std::vector<std::string> bisheng_flags(const CompileSettings& settings,
                                              std::string_view arch) {
  std::vector<std::string> flags;
  if (settings.has_bisheng_flags) {
    flags = detail::split_flags(settings.bisheng_flags);
  } else {
    flags = {"-std=c++" + settings.cpp_standard, str::format("-O{}", settings.optimize_level)};
  }
  // The file's suffix says what it holds, and this that the host half is not wanted.
  flags.emplace_back("--cce-aicore-only");
  for (std::string& flag : common_flags(settings, arch)) flags.push_back(std::move(flag));
  return flags;
}

// Why no mmap: the staging folder may be on a network file system.
inline std::vector<std::string> linker_flags() {
  return {"-m", "aicorelinux", "-Ttext", "0", "--no-mmap-output-file"};
}

class BishengCompiler final : public Compiler {
 public:
  explicit BishengCompiler(Toolkit toolkit) : toolkit_(std::move(toolkit)) {}

  std::string name() const override { return "bisheng"; }
  std::filesystem::path path() const override { return toolkit_.bisheng; }
  std::string version() const override {
    return toolkit_.version.empty() ? "unknown" : toolkit_.version;
  }
  // The version stands for the toolkit's headers, which kernels include.
  std::string identity() const override {
    return str::format("bisheng {} ld.lld {} CANN {}", detail::file_identity(toolkit_.bisheng),
                       detail::file_identity(toolkit_.linker), version());
  }
  std::vector<std::string> flags(const CompileSettings& settings,
                                 std::string_view arch) const override {
    auto all = bisheng_flags(settings, arch);
    for (std::string& flag : linker_flags()) all.push_back(std::move(flag));
    return all;
  }

  CompileOutput compile(const CompileRequest& request) override {
    detail::write_artifact(request.dir / kSourceFile, request.source);
    std::vector<std::string> compile = {toolkit_.bisheng.string()};
    for (std::string& flag : bisheng_flags(request.settings, request.arch))
      compile.push_back(std::move(flag));
    for (std::string& flag : include_flags(request.include_dirs, toolkit_.include_dirs))
      compile.push_back(std::move(flag));
    std::vector<std::string> dump = compile;
    for (const char* word : {"-c", kSourceFile, "-o", kRelocatableFile}) compile.emplace_back(word);
    std::vector<std::string> link = {toolkit_.linker.string()};
    for (std::string& flag : linker_flags()) link.push_back(std::move(flag));
    for (const char* word : {kRelocatableFile, "-static", "-o", kBinaryFile})
      link.emplace_back(word);

    CompileOutput output;
    output.command = printable_command(compile) + " && " + printable_command(link);
    output.log = run(compile, request, kRelocatableFile);
    output.log += run(link, request, kBinaryFile);
    output.binary = detail::read_artifact(request.dir / kBinaryFile);
    check_output("ld.lld", output);
    std::error_code ignored;
    std::filesystem::remove(request.dir / kRelocatableFile, ignored);
    if (request.settings.dump_asm) {
      for (const char* word : {"-S", kSourceFile, "-o", kAsmFile}) dump.emplace_back(word);
      output.log += run(dump, request, kAsmFile);
    }
    return output;
  }

 private:
  static std::string run(const std::vector<std::string>& argv, const CompileRequest& request,
                         std::string_view product) {
    const std::string command = printable_command(argv);
    const std::string tool = std::filesystem::path(argv.front()).filename().string();
    if (request.print_command) std::fprintf(stderr, "%s\n", command.c_str());
    CommandOptions options;
    options.cwd = request.dir;
    options.extra_env = {{"LC_ALL", "C"}};  // one language in logs
    const CommandResult result = run_command(argv, options);
    if (!result.ok()) {
      fail_compile(tool, command, result.describe(), result.output,
                   result.signal != 0
                       ? "look for the out-of-memory killer or a time limit, and try again."
                       : "mend the source or the flags as the log says.");
    }
    std::error_code error;
    const auto bytes = std::filesystem::file_size(request.dir / product, error);
    if (error || bytes == 0) {
      fail_compile(tool, command,
                   str::format("exit 0 and {} {}", error ? "no" : "an empty", product),
                   result.output, "check that the program named above is CANN's.");
    }
    return result.output;
  }

  Toolkit toolkit_;
};

}  // namespace ascend
}  // namespace DJ_HIDDEN deep_jit
