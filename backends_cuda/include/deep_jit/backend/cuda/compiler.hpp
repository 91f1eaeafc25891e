// What the two compilers have in common: the request, the artifacts, and what ptxas reported.
//
//   std::unique_ptr<cuda::Compiler> compiler = ...;             // NvrtcCompiler or NvccCompiler
//   cuda::CompileOutput out = compiler->compile(request);       // throws Toolchain, whole log
//   inside for (auto& kernel : cuda::parse_ptxas_log(out.log)) kernel.num_registers;
//
// Artifacts: kernel.cu, kernel.cubin, compile.log, and kernel.ptx, kernel.sass where asked for.
// Leaves choosing a compiler and a target to backend.hpp.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <deep_jit/backend/cuda/options.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cuda {

inline constexpr const char* kSourceFile = "kernel.cu";
inline constexpr const char* kCubinFile = "kernel.cubin";
inline constexpr const char* kLogFile = "compile.log";
inline constexpr const char* kPtxFile = "kernel.ptx";
inline constexpr const char* kSassFile = "kernel.sass";

struct CompileRequest {
  std::string source;
  std::filesystem::path dir;  // exists; artifacts go here
  std::string arch;           // "90a"
  CompileSettings settings;
  std::vector<std::filesystem::path> include_dirs;
  bool print_command = false;
};

struct CompileOutput {
  std::string cubin;
  std::string ptx;      // empty unless asked for
  std::string command;  // printable; NVRTC's is what it was given, behind "nvrtc"
  std::string log;      // all of it
};

class Compiler {
 public:
  virtual ~Compiler() = default;
  virtual std::string name() const = 0;  // "NVRTC", "nvcc"
  virtual std::filesystem::path path() const = 0;
  virtual std::string version() const = 0;               // "13.0"
  virtual std::string identity() const = 0;              // content, not place
  virtual void prepare() {}                              // whatever may fail before a compile
  virtual bool knows_arch(const std::string& arch) = 0;  // asks the compiler, once per target
  virtual CompileOutput compile(const CompileRequest& request) = 0;
};

// One entry or device function, as `ptxas -v` reports it.
struct KernelResources {
  std::string name;
  int num_registers = 0;
  int stack_bytes = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
  int smem_bytes = 0;
};

namespace detail {

// The number right before `unit` in `line`; 0 when the unit is not there.
inline int number_before(std::string_view line, std::string_view unit) {
  std::size_t at = line.find(unit);
  if (at == std::string_view::npos || at == 0) return 0;
  std::size_t start = at;
  while (start > 0 && line[start - 1] >= '0' && line[start - 1] <= '9') --start;
  return std::atoi(std::string(line.substr(start, at - start)).c_str());
}

inline std::string_view text_between(std::string_view line, std::string_view before,
                                     std::string_view after) {
  const std::size_t start = line.find(before);
  if (start == std::string_view::npos) return {};
  const std::size_t from = start + before.size();
  return line.substr(from, std::min(line.find(after, from), line.size()) - from);
}

inline void write_text(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) {
    DJ_FAIL(kCache,
            "cuda: compile: artifact: given {}.\n"
            "  Rule ARTIFACT_WRITE: the staging folder takes {} bytes.\n"
            "  Fix: free space, or point JIT_CACHE_DIR at another file system.",
            path.string(), text.size());
  }
}

inline std::string read_binary(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// A compiler that was killed half way can leave any bytes: what is not an ELF never gets further.
inline bool looks_like_cubin(std::string_view bytes) {
  return bytes.size() > 64 && bytes.substr(0, 4) ==
                                  "\x7f"
                                  "ELF";
}

}  // namespace detail

inline std::vector<KernelResources> parse_ptxas_log(std::string_view log) {
  std::vector<KernelResources> kernels;
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = std::min(log.find('\n', at), log.size());
    const std::string_view line = log.substr(at, end - at);
    at = end + 1;
    std::string_view name = detail::text_between(line, "Compiling entry function '", "'");
    if (name.empty()) name = detail::text_between(line, "Function properties for ", " ");
    if (!name.empty() && (kernels.empty() || kernels.back().name != name))
      kernels.push_back({std::string(name)});
    if (kernels.empty()) continue;
    KernelResources& kernel = kernels.back();
    if (line.find("bytes stack frame") != std::string_view::npos) {
      kernel.stack_bytes = detail::number_before(line, " bytes stack frame");
      kernel.spill_store_bytes = detail::number_before(line, " bytes spill stores");
      kernel.spill_load_bytes = detail::number_before(line, " bytes spill loads");
    }
    if (line.find("Used ") != std::string_view::npos) {
      // Registers are reported for the entry, after its own and its callees' properties.
      for (KernelResources& entry : kernels) {
        if (entry.num_registers != 0) continue;
        entry.num_registers = detail::number_before(line, " registers");
        entry.smem_bytes = detail::number_before(line, " bytes smem");
      }
    }
  }
  return kernels;
}

inline std::string describe(const KernelResources& kernel) {
  return str::format(
      "{}: {} registers, {} bytes stack, {} bytes spill stores, {} bytes spill loads", kernel.name,
      kernel.num_registers, kernel.stack_bytes, kernel.spill_store_bytes, kernel.spill_load_bytes);
}

// check_no_spills and check_no_local_memory. A log without a report cannot pass either.
inline void check_resources(const CompileSettings& settings, const std::string& log) {
  if (!settings.check_no_spills && !settings.check_no_local_memory) return;
  const auto kernels = parse_ptxas_log(log);
  const auto refuse = [&](std::string_view option, const std::string& given, std::string_view rule,
                          std::string_view fix) {
    DJ_FAIL(kToolchain, "cuda: compile: {}: given {}.\n  Rule {}: see the option.\n  Fix: {}\n{}",
            option, given, rule, fix, log);
  };
  if (kernels.empty()) {
    refuse(settings.check_no_spills ? "check_no_spills" : "check_no_local_memory",
           "a compiler log without ptxas' report", "RESOURCE_REPORT",
           "remove flags that silence ptxas.");
  }
  for (const KernelResources& kernel : kernels) {
    if (settings.check_no_spills && kernel.spill_store_bytes + kernel.spill_load_bytes != 0) {
      refuse("check_no_spills", describe(kernel), "NO_SPILLS",
             "give the kernel more registers or less to hold.");
    }
    if (settings.check_no_local_memory && kernel.stack_bytes != 0) {
      refuse("check_no_local_memory", describe(kernel), "NO_LOCAL_MEMORY",
             "index arrays with compile-time constants, so that they stay in registers.");
    }
  }
}

// The failure of either compiler: what ran, how it ended, everything it printed.
[[noreturn]] inline void fail_compile(std::string_view compiler, std::string_view command,
                                      std::string_view ending, std::string_view log,
                                      std::string_view fix) {
  DJ_FAIL(kToolchain,
          "cuda: compile: {}: given\n    {}\n  which ended with {}.\n"
          "  Rule COMPILE_SUCCEEDS: a kernel is loaded only after its compiler succeeded.\n"
          "  Fix: {}\n---- whole log ----\n{}",
          compiler, command, ending, fix, log);
}

}  // namespace cuda
}  // namespace DJ_HIDDEN deep_jit
