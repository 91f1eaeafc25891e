// NVRTC in process: source text to cubin without a toolkit, a host compiler or a subprocess.
//
//   cuda::NvrtcCompiler compiler(*cuda::find_nvrtc(places).chosen());   // opens nothing yet
//   compiler.identity();                       // still nothing loaded: a cache hit needs no NVRTC
//   auto out = compiler.compile(request);      // loads the library at the first compile
//
// The library's builtins companion is preloaded, since releases without a RUNPATH (13.0) do not
// find it themselves. A kernel may include <cstdint> and <cstddef> although no host headers exist:
// their text is ours; int64_t is long long there, as in CUDA's own headers.
// Leaves the search to toolkit.hpp and flags to compiler_flags.hpp.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <deep_jit/backend/cuda/compiler.hpp>
#include <deep_jit/backend/cuda/compiler_flags.hpp>
#include <deep_jit/backend/cuda/toolkit.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cuda {

namespace detail {
inline constexpr const char* kStdint = R"(#pragma once
using int8_t = signed char; using int16_t = short; using int32_t = int; using int64_t = long long;
using uint8_t = unsigned char; using uint16_t = unsigned short; using uint32_t = unsigned int;
using uint64_t = unsigned long long; using intptr_t = long long;
using uintptr_t = unsigned long long;
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295u
namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t; using ::uint8_t;
using ::uint16_t; using ::uint32_t; using ::uint64_t; using ::intptr_t; using ::uintptr_t;
}
)";
inline constexpr const char* kStddef = R"(#pragma once
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
namespace std {
using ::size_t; using ::ptrdiff_t; using nullptr_t = decltype(nullptr);
}
)";
}  // namespace detail

// The C interface, declared here so that nvrtc.h is not needed to build.
class NvrtcLibrary {
 public:
  using Program = void*;
  int (*version)(int*, int*) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, std::size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  int (*ptx_size)(Program, std::size_t*) = nullptr;
  int (*ptx)(Program, char*) = nullptr;
  const char* (*error_string)(int) = nullptr;

  // Throws Toolchain with the loader's words. Never closed: NVRTC keeps threads and thread-locals.
  explicit NvrtcLibrary(const Candidate& candidate) {
    preload_builtins(candidate);
    void* handle = dlopen(candidate.path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* why = dlerror();
      refuse(candidate, why == nullptr ? "unknown" : why);
    }
    const auto bind = [&](auto& function, const char* symbol) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, symbol));
      if (function == nullptr) refuse(candidate, str::format("it lacks {}", symbol));
    };
    bind(version, "nvrtcVersion");
    bind(create, "nvrtcCreateProgram");
    bind(compile, "nvrtcCompileProgram");
    bind(destroy, "nvrtcDestroyProgram");
    bind(log_size, "nvrtcGetProgramLogSize");
    bind(log, "nvrtcGetProgramLog");
    bind(cubin_size, "nvrtcGetCUBINSize");
    bind(cubin, "nvrtcGetCUBIN");
    bind(ptx_size, "nvrtcGetPTXSize");
    bind(ptx, "nvrtcGetPTX");
    bind(error_string, "nvrtcGetErrorString");
    int major = 0, minor = 0;
    version(&major, &minor);
    cuda_version = major * 1000 + minor * 10;
    if (cuda_version < kOldestToolkit) {
      refuse(candidate, str::format("release {} is older than {}", version_text(cuda_version),
                                    version_text(kOldestToolkit)));
    }
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(version), &info) != 0 && info.dli_fname != nullptr)
      real_path = info.dli_fname;
  }

  int cuda_version = 0;
  std::filesystem::path real_path;

 private:
  [[noreturn]] static void refuse(const Candidate& candidate, const std::string& why) {
    DJ_FAIL(kToolchain,
            "cuda: NVRTC: given {} ({}): {}.\n"
            "  Rule NVRTC_LOADS: the library loads and is release {} or newer.\n"
            "  Fix: pip install nvidia-cuda-nvrtc, set JIT_NVRTC_LIBRARY to another copy, or set "
            "JIT_COMPILER=nvcc.",
            candidate.path.string(), candidate.origin, why, version_text(kOldestToolkit));
  }

  static void preload_builtins(const Candidate& candidate) {
    if (candidate.version == 0 || !candidate.path.has_parent_path()) return;
    const auto builtins = candidate.path.parent_path() /
                          str::format("libnvrtc-builtins.so.{}", version_text(candidate.version));
    if (detail::has_file(builtins)) dlopen(builtins.c_str(), RTLD_LAZY | RTLD_GLOBAL);
  }
};

class NvrtcCompiler final : public Compiler {
 public:
  explicit NvrtcCompiler(Candidate candidate) : candidate_(std::move(candidate)) {
    // The loader's search alone cannot say what it would find: load it now.
    if (!candidate_.path.has_parent_path()) {
      candidate_.version = library().cuda_version;
      candidate_.path = library().real_path;
    }
    identity_ = file_identity(candidate_.path);
  }

  std::string name() const override { return "NVRTC"; }
  std::filesystem::path path() const override { return candidate_.path; }
  std::string version() const override { return version_text(candidate_.version); }
  std::string identity() const override {
    // Kernels may include the toolkit's headers; these change with its release alone.
    const int headers = candidate_.include_dirs.empty()
                            ? 0
                            : detail::header_version(candidate_.include_dirs.front());
    return str::format("nvrtc {} {} headers {}", version(), identity_,
                       headers == 0 ? "none" : version_text(headers));
  }

  // Loads the library, or throws Toolchain: backend.hpp then tries the next candidate.
  void prepare() override { library(); }

  // A source that stops in the preprocessor: the target is checked first, so this takes a
  // millisecond, and what the answer means does not depend on reading the log's words.
  bool knows_arch(const std::string& arch) override {
    const std::lock_guard lock(mutex_);
    const auto known = archs_.find(arch);
    if (known != archs_.end()) return known->second;
    const std::string flag = "-arch=sm_" + arch;
    const Answer answer = ask("#error stop\n", {flag}, false);
    constexpr int kInvalidOption = 5;
    return archs_[arch] = answer.result != kInvalidOption;
  }

  CompileOutput compile(const CompileRequest& request) override {
    std::vector<std::string> flags = nvrtc_arguments(request.settings, request.arch);
    // Folders of the toolkit come last: they serve kernels that want cuda_fp16.h and the like.
    for (const auto& dir : request.include_dirs) flags.push_back("-I" + dir.string());
    for (const auto& dir : candidate_.include_dirs) flags.push_back("-I" + dir.string());
    // Its own cache, from 12.9 on, would keep what ours keeps.
    if (library().cuda_version >= 12090) flags.push_back("--no-cache");
    CompileOutput output;
    output.command = "nvrtc " + str::join(flags, " ") + " " + kSourceFile;
    if (request.print_command) std::fprintf(stderr, "%s\n", output.command.c_str());
    Answer answer = ask(request.source, flags, request.settings.dump_ptx);
    output.log = std::move(answer.log);
    output.cubin = std::move(answer.cubin);
    output.ptx = std::move(answer.ptx);
    if (answer.result != 0) {
      fail_compile("NVRTC", output.command, library().error_string(answer.result), output.log,
                   "correct the source; for a flag or header that only nvcc has, set "
                   "JIT_COMPILER=nvcc.");
    }
    if (!detail::looks_like_cubin(output.cubin)) {
      fail_compile("NVRTC", output.command,
                   str::format("success but {} bytes that are no cubin", output.cubin.size()),
                   output.log, "reinstall NVRTC.");
    }
    return output;
  }

 private:
  struct Answer {
    int result = 0;
    std::string log, cubin, ptx;
  };

  const NvrtcLibrary& library() {
    const std::lock_guard lock(load_mutex_);
    if (library_ == nullptr) library_ = std::make_unique<NvrtcLibrary>(candidate_);
    return *library_;
  }

  Answer ask(const std::string& source, const std::vector<std::string>& flags, bool with_ptx) {
    const NvrtcLibrary& nvrtc = library();
    static const char* const kTexts[] = {detail::kStdint, detail::kStdint, detail::kStddef,
                                         detail::kStddef};
    static const char* const kNames[] = {"cstdint", "stdint.h", "cstddef", "stddef.h"};
    NvrtcLibrary::Program program = nullptr;
    Answer answer;
    answer.result = nvrtc.create(&program, source.c_str(), kSourceFile, 4, kTexts, kNames);
    if (answer.result != 0) return answer;
    const Destroyer destroyer{nvrtc, program};
    std::vector<const char*> arguments;
    for (const std::string& flag : flags) arguments.push_back(flag.c_str());
    answer.result = nvrtc.compile(program, static_cast<int>(arguments.size()), arguments.data());
    answer.log = fetch(program, nvrtc.log_size, nvrtc.log);
    while (!answer.log.empty() && answer.log.back() == '\0') answer.log.pop_back();
    if (answer.result != 0) return answer;
    answer.cubin = fetch(program, nvrtc.cubin_size, nvrtc.cubin);
    if (with_ptx) answer.ptx = fetch(program, nvrtc.ptx_size, nvrtc.ptx);
    while (!answer.ptx.empty() && answer.ptx.back() == '\0') answer.ptx.pop_back();
    return answer;
  }

  struct Destroyer {
    const NvrtcLibrary& nvrtc;
    NvrtcLibrary::Program& program;
    ~Destroyer() { nvrtc.destroy(&program); }
  };

  static std::string fetch(NvrtcLibrary::Program program,
                           int (*size)(NvrtcLibrary::Program, std::size_t*),
                           int (*get)(NvrtcLibrary::Program, char*)) {
    std::size_t num_bytes = 0;
    if (size(program, &num_bytes) != 0) return {};
    std::string bytes(num_bytes, '\0');
    if (num_bytes != 0 && get(program, bytes.data()) != 0) return {};
    return bytes;
  }

  Candidate candidate_;
  std::string identity_;
  std::mutex load_mutex_;
  std::unique_ptr<NvrtcLibrary> library_;
  std::mutex mutex_;
  std::map<std::string, bool> archs_;
};

}  // namespace cuda
}  // namespace DJ_HIDDEN deep_jit
