// Source and options to a shared object, through the machine's C++ compiler.
//
//   const auto flags = host::compile_flags(settings, "x86-64-v3");   // no paths in them
//   std::string command = host::compile_source(toolchain, flags, source, dir, include_dirs, ...);
//
// Artifacts: kernel.cpp, kernel.so, compile.log, and kernel.s where asked for. What the compiler
// did not finish never reaches the loader. Leaves the search to toolchain.hpp.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <deep_jit/backend/host/options.hpp>
#include <deep_jit/backend/host/target.hpp>
#include <deep_jit/backend/host/toolchain.hpp>
#include <deep_jit/utils/command.hpp>
#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/str.hpp>

namespace DJ_HIDDEN deep_jit {
namespace host {

inline constexpr const char* kSourceFile = "kernel.cpp";
inline constexpr const char* kBinaryFile = "kernel.so";
inline constexpr const char* kAsmFile = "kernel.s";
inline constexpr const char* kLogFile = "compile.log";

// Everything that shapes the machine code, and no path: enters the build key.
inline std::vector<std::string> compile_flags(const CompileSettings& settings,
                                              std::string_view target) {
  std::vector<std::string> flags = {str::format("-O{}", settings.optimize_level),
                                    "-std=c++" + settings.cpp_standard, "-fPIC"};
  for (auto& flag : target_flags(target)) flags.push_back(std::move(flag));
  if (settings.fast_math) {
    // Hazard: -ffast-math itself also links a start-up file that turns denormals off for the thread
    // that loads the kernel; its parts do not.
    for (const char* part : {"-fno-math-errno", "-fno-signed-zeros", "-fno-trapping-math",
                             "-fassociative-math", "-freciprocal-math", "-ffinite-math-only"})
      flags.emplace_back(part);
  }
  if (settings.with_line_info) flags.emplace_back("-g1");
  flags.insert(flags.end(), settings.extra_flags.begin(), settings.extra_flags.end());
  return flags;
}

// Variables that GCC and Clang read besides their arguments.
inline std::string compiler_environment() {
  std::string text;
  for (const char* name : {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH",
                           "COMPILER_PATH", "GCC_EXEC_PREFIX", "CCC_OVERRIDE_OPTIONS"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') text += str::format("{}={}\n", name, value);
  }
  return text;
}

namespace detail {

inline void write_artifact(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (file) return;
  DJ_FAIL(kCache,
          "host: compile: artifact: given {}.\n"
          "  Rule ARTIFACT_WRITE: the staging folder takes {} bytes.\n"
          "  Fix: free space, or point JIT_CACHE_DIR at another file system.",
          path.string(), text.size());
}

// A compiler that was killed half way can leave any bytes.
inline bool is_shared_object(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[4] = {};
  file.read(magic, sizeof magic);
  std::error_code error;
  return file &&
         std::string_view(magic, 4) ==
             "\x7f"
             "ELF" &&
         std::filesystem::file_size(path, error) > 64 && !error;
}

[[noreturn]] inline void fail_compile(const std::vector<std::string>& argv, std::string_view ending,
                                      std::string_view fix, std::string_view log) {
  DJ_FAIL(kToolchain,
          "host: compile: {}: given\n    {}\n  which ended with {}.\n"
          "  Rule COMPILE_SUCCEEDS: a kernel is loaded only after its compiler succeeded.\n"
          "  Fix: {}\n---- whole log, {} bytes ----\n{}",
          argv.front(), str::join(argv, " "), ending, fix, log.size(), log);
}

inline std::string run_compiler(const std::vector<std::string>& argv,
                                const std::filesystem::path& dir, std::string_view product) {
  CommandOptions options;
  options.cwd = dir;
  options.extra_env = {{"LC_ALL", "C"}};  // one language in logs, one decimal point
  const CommandResult result = run_command(argv, options);
  if (!result.ok()) {
    fail_compile(argv, result.describe(),
                 result.signal != 0
                     ? "look for the out-of-memory killer or a time limit, and try again."
                     : "mend the source or the flags as the log says.",
                 result.output);
  }
  std::error_code error;
  const auto bytes = std::filesystem::file_size(dir / product, error);
  if (error || bytes == 0) {
    fail_compile(argv, str::format("exit 0 and {} {}", error ? "no" : "an empty", product),
                 "check that the compiler named above is one.", result.output);
  }
  return result.output;
}

}  // namespace detail

// Returns the printable command. Names in it are relative to `dir`, include folders excepted.
inline std::string compile_source(const Toolchain& toolchain, const std::vector<std::string>& flags,
                                  std::string_view source, const std::filesystem::path& dir,
                                  const std::vector<std::filesystem::path>& include_dirs,
                                  bool dump_asm, bool print_command) {
  detail::write_artifact(dir / kSourceFile, source);
  std::vector<std::string> argv = toolchain.command;
  argv.insert(argv.end(), flags.begin(), flags.end());
  for (const auto& include_dir : include_dirs) {
    argv.emplace_back("-I");
    argv.push_back(include_dir.string());
  }
  const auto with_output = [&](std::initializer_list<const char*> rest) {
    std::vector<std::string> whole = argv;
    whole.insert(whole.end(), rest.begin(), rest.end());
    if (print_command) std::fprintf(stderr, "%s\n", str::join(whole, " ").c_str());
    return whole;
  };
  const auto build = with_output({"-shared", "-pipe", "-o", kBinaryFile, kSourceFile});
  std::string log = detail::run_compiler(build, dir, kBinaryFile);
  if (!detail::is_shared_object(dir / kBinaryFile)) {
    detail::fail_compile(build, str::format("exit 0 and a {} that is no ELF file", kBinaryFile),
                         "check that the compiler named above is one.", log);
  }
  if (dump_asm)
    log += detail::run_compiler(with_output({"-S", "-o", kAsmFile, kSourceFile}), dir, kAsmFile);
  detail::write_artifact(dir / kLogFile, log);
  return str::join(build, " ");
}

}  // namespace host
}  // namespace DJ_HIDDEN deep_jit
