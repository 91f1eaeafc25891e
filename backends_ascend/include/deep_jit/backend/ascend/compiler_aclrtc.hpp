// Source to device ELF in this process, through the library that CANN has from 9.0 on.
//
//   ascend::AclrtcCompiler compiler(toolkit);       // throws Toolchain when it does not load
//   compiler.compile(request);
//   ascend::aclrtc_flags(settings, "dav-2201");     // text alone, tested as such
//
// Its interface has the shape of NVRTC's and no header in the packages that we may fetch, so it is
// declared here. Known from documentation only; run against the simulated library in tests.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <deep_jit/backend/ascend/compiler.hpp>
#include <deep_jit/backend/ascend/compiler_bisheng.hpp>
#include <deep_jit/backend/ascend/toolkit.hpp>

namespace DJ_HIDDEN deep_jit {
namespace ascend {

// Language and dialect are the library's own business: it adds -xasc and -std=c++17 itself.
inline std::vector<std::string> aclrtc_flags(const CompileSettings& settings,
                                             std::string_view arch) {
  std::vector<std::string> flags;
  if (settings.has_bisheng_flags) {
    flags = detail::split_flags(settings.bisheng_flags);
  } else {
    flags = {str::format("-O{}", settings.optimize_level)};
    if (settings.cpp_standard != "17") flags.push_back("-std=c++" + settings.cpp_standard);
  }
  for (std::string& flag : common_flags(settings, arch)) flags.push_back(std::move(flag));
  return flags;
}

// The functions of libacl_rtc.so. Never closed: it keeps a compiler's state.
struct AclrtcLibrary {
  using Program = void*;
  int (*create)(Program*, const char* source, const char* name, int, const char* const*,
                const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*binary_size)(Program, std::size_t*) = nullptr;
  int (*binary)(Program, char*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;

  explicit AclrtcLibrary(const std::filesystem::path& path) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* why = dlerror();
      refuse(path, why == nullptr ? "unknown" : why);
    }
    const auto bind = [&](auto& function, const char* symbol) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, symbol));
      if (function == nullptr) refuse(path, str::format("it lacks {}", symbol));
    };
    bind(create, "aclrtcCreateProg");
    bind(compile, "aclrtcCompileProg");
    bind(destroy, "aclrtcDestroyProg");
    bind(binary_size, "aclrtcGetBinDataSize");
    bind(binary, "aclrtcGetBinData");
    bind(log_size, "aclrtcGetCompileLogSize");
    bind(log, "aclrtcGetCompileLog");
  }

 private:
  [[noreturn]] static void refuse(const std::filesystem::path& path, const std::string& why) {
    DJ_FAIL(kToolchain,
            "ascend: aclrtc: given {}: {}.\n"
            "  Rule ACLRTC_LOADS: the library loads and has the calls of CANN 9.0.\n"
            "  Fix: source CANN's set_env.sh, or set JIT_COMPILER=bisheng.",
            path.string(), why);
  }
};

class AclrtcCompiler final : public Compiler {
 public:
  explicit AclrtcCompiler(Toolkit toolkit)
      : toolkit_(std::move(toolkit)), library_(toolkit_.aclrtc) {}

  std::string name() const override { return "aclrtc"; }
  std::filesystem::path path() const override { return toolkit_.aclrtc; }
  std::string version() const override {
    return toolkit_.version.empty() ? "unknown" : toolkit_.version;
  }
  std::string identity() const override {
    return str::format("aclrtc {} CANN {}", detail::file_identity(toolkit_.aclrtc), version());
  }
  std::vector<std::string> flags(const CompileSettings& settings,
                                 std::string_view arch) const override {
    return aclrtc_flags(settings, arch);
  }

  CompileOutput compile(const CompileRequest& request) override {
    std::vector<std::string> flags = aclrtc_flags(request.settings, request.arch);
    for (std::string& flag : include_flags(request.include_dirs, toolkit_.include_dirs))
      flags.push_back(std::move(flag));
    CompileOutput output;
    output.command = "aclrtc " + printable_command(flags) + " " + kSourceFile;
    if (request.print_command) std::fprintf(stderr, "%s\n", output.command.c_str());
    // Why a lock: nothing is written about threads in its documentation.
    const std::lock_guard<std::mutex> guard(mutex_);
    const int result = ask(request.source, flags, output);
    if (result != 0) {
      fail_compile("aclrtc", output.command, str::format("code {}", result), output.log,
                   "mend the source or the flags as the log says; a flag that only bisheng has "
                   "needs JIT_COMPILER=bisheng.");
    }
    check_output("aclrtc", output);
    detail::write_artifact(request.dir / kSourceFile, request.source);
    detail::write_artifact(request.dir / kBinaryFile, output.binary);
    return output;
  }

 private:
  int ask(const std::string& source, const std::vector<std::string>& flags, CompileOutput& output) {
    AclrtcLibrary::Program program = nullptr;
    int result = library_.create(&program, source.c_str(), kSourceFile, 0, nullptr, nullptr);
    if (result != 0) return result;
    std::vector<const char*> words;
    for (const std::string& flag : flags) words.push_back(flag.c_str());
    result = library_.compile(program, static_cast<int>(words.size()), words.data());
    output.log = fetch(program, library_.log_size, library_.log);
    while (!output.log.empty() && output.log.back() == '\0') output.log.pop_back();
    if (result == 0) output.binary = fetch(program, library_.binary_size, library_.binary);
    library_.destroy(&program);
    return result;
  }

  static std::string fetch(AclrtcLibrary::Program program,
                           int (*size)(AclrtcLibrary::Program, std::size_t*),
                           int (*get)(AclrtcLibrary::Program, char*)) {
    std::size_t num_bytes = 0;
    if (size(program, &num_bytes) != 0) return {};
    std::string bytes(num_bytes, '\0');
    if (num_bytes != 0 && get(program, bytes.data()) != 0) return {};
    return bytes;
  }

  Toolkit toolkit_;
  AclrtcLibrary library_;
  std::mutex mutex_;
};

}  // namespace ascend
}  // namespace DJ_HIDDEN deep_jit
