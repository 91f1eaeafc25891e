// Compiles one kernel source with the product's CUDA back end and checks what it needs.
//
//   compile_cubin nvrtc|nvcc COMPILER SOURCE ARCH CUBIN REPORT
//                 MAX_REGISTERS MAX_SPILL_BYTES MAX_STATIC_SMEM_BYTES [INCLUDE_DIR...]
//
// Writes the cubin and a report of one line a kernel. Exits with 1 and the compiler's whole log
// where the source does not compile or a kernel is over a limit. Run by cuda_cubin.bzl.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <deep_jit/backend/cuda/backend.hpp>
#include <deep_jit/utils/uuid.hpp>

namespace {

using namespace deep_jit;
namespace fs = std::filesystem;

struct Limits {
  int registers, spill_bytes, static_smem_bytes;
};

std::string over_limit(const cuda::KernelResources& kernel, const Limits& limits) {
  const auto above = [](const char* what, int used, int most) {
    return used <= most ? std::string() : str::format(" {} {} of at most {};", used, what, most);
  };
  return above("registers", kernel.num_registers, limits.registers) +
         above("bytes of spills", kernel.spill_store_bytes + kernel.spill_load_bytes,
               limits.spill_bytes) +
         above("bytes of static shared memory", kernel.smem_bytes, limits.static_smem_bytes);
}

void append_line(std::string& report, const std::string& compiler, const std::string& arch,
                 const cuda::KernelResources& kernel, std::size_t cubin_bytes) {
  char line[256];
  std::snprintf(line, sizeof line, "%-16s %-5s %-32s %8d %6d %7d %5d %6zu\n", compiler.c_str(),
                arch.c_str(), kernel.name.c_str(), kernel.num_registers, kernel.stack_bytes,
                kernel.spill_store_bytes + kernel.spill_load_bytes, kernel.smem_bytes, cubin_bytes);
  report += line;
}

int run(const std::vector<std::string>& arguments) {
  const std::string &kind = arguments[0], &compiler = arguments[1], &arch = arguments[3];
  const Limits limits{std::atoi(arguments[6].c_str()), std::atoi(arguments[7].c_str()),
                      std::atoi(arguments[8].c_str())};
  setenv("DJ_JIT_COMPILER", kind.c_str(), 1);
  setenv(kind == "nvcc" ? "DJ_JIT_NVCC_COMPILER" : "DJ_JIT_NVRTC_LIBRARY",
         fs::absolute(compiler).c_str(), 1);
  const fs::path root = fs::current_path();
  std::vector<fs::path> include_dirs;
  for (std::size_t i = 9; i < arguments.size(); ++i) include_dirs.push_back(root / arguments[i]);

  const fs::path scratch = fs::path(arguments[4] + "." + get_uuid());
  fs::create_directories(scratch);
  const Env env("CUBIN");
  const Config config(root.string(), "CUBIN", "", include_dirs);
  const CUDA backend(config, env);
  cuda::CompilerOptions options;
  options.arch = arch;
  backend.compile(cuda::detail::read_binary(arguments[2]), scratch, env, config, options);

  const std::string cubin = cuda::detail::read_binary(scratch / cuda::kCubinFile);
  const std::string log = cuda::detail::read_binary(scratch / cuda::kLogFile);
  fs::remove_all(scratch);
  const auto kernels = cuda::parse_ptxas_log(log);
  std::string report, complaints;
  if (kernels.empty()) complaints = "the log has no report of ptxas\n";
  for (const cuda::KernelResources& kernel : kernels) {
    append_line(report, backend.compiler_info(options).version, arch, kernel, cubin.size());
    const std::string over = over_limit(kernel, limits);
    if (!over.empty()) complaints += kernel.name + ":" + over + "\n";
  }
  if (!complaints.empty()) {
    std::fprintf(stderr, "%s---- whole log ----\n%s", complaints.c_str(), log.c_str());
    return 1;
  }
  cuda::detail::write_text(arguments[4], cubin);
  cuda::detail::write_text(arguments[5], report);
  return 0;
}

}  // namespace

int main(int count, char** values) {
  const std::vector<std::string> arguments(values + 1, values + count);
  if (arguments.size() < 9) {
    std::fprintf(stderr, "compile_cubin: 9 arguments at least; see the head of its source\n");
    return 2;
  }
  try {
    return run(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
