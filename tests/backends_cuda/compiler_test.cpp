// Both compilers through the back end, by real NVRTC and by stubs in the place of nvcc.
// Longer than usual, since every case shares its folders, environment and error check.
#include <deep_jit/backend/cuda/backend.hpp>

#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/check.hpp"

namespace {

namespace fs = std::filesystem;
using namespace deep_jit;

class TempDir {
 public:
  TempDir() {
    char name[] = "/tmp/dj_compiler_XXXXXX";
    path_ = mkdtemp(name);
  }
  ~TempDir() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }
  fs::path add(const std::string& below, const std::string& text, bool is_program = false) const {
    std::ofstream(path_ / below) << text;
    if (is_program) fs::permissions(path_ / below, fs::perms::owner_all);
    return path_ / below;
  }

 private:
  fs::path path_;
};

class ScopedEnv {
 public:
  ScopedEnv(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~ScopedEnv() { unsetenv(name_); }

 private:
  const char* name_;
};

const Env kEnv("DJC");

Config config_with(std::vector<fs::path> include_dirs = {}) {
  return Config("/nonexistent/package", "DJC", "", std::move(include_dirs));
}

std::string read(const fs::path& path) { return cuda::detail::read_binary(path); }

bool has_nvrtc() {
  const Config config = config_with();
  const bool found = cuda::find_nvrtc(cuda::SearchPlaces::of_process(config, kEnv))
                         .chosen()
                         ->path.has_parent_path();
  if (!found) std::puts("skipped: no NVRTC on this machine (set DJC_JIT_NVRTC_LIBRARY)");
  return found;
}

constexpr const char* kScale = R"(
#include <cstdint>
constexpr int twice(int x) { return 2 * x; }
extern "C" __global__ void scale(float* data, uint64_t n) {
  const uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x;
  if (i < n) data[i] *= twice(static_cast<int>(n));
})";

// An array indexed at run time lives in local memory.
constexpr const char* kLocal = R"(
extern "C" __global__ void local(float* data, int n) {
  float values[64];
  for (int i = 0; i < 64; ++i) values[i] = data[i];
  data[threadIdx.x] = values[n];
})";

std::string compile_error(const CUDA& backend, const Config& config, const char* source,
                          const fs::path& dir, const cuda::CompilerOptions& options) {
  try {
    backend.compile(source, dir, kEnv, config, options);
  } catch (const exception::Exception& error) {
    return std::string(exception::kind_name(error.kind())) + ": " + error.what();
  }
  return "no error";
}

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    if (text.find(part) == std::string::npos)
      std::printf("missing \"%s\" in:\n%s\n", part.c_str(), text.c_str());
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST(PtxasLog, ReportsOfBothCompilersAreRead) {
  const auto kernels = cuda::parse_ptxas_log(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'a' for 'sm_90a'\n"
      "ptxas info    : Function properties for a\n"
      "    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 1 barriers, 2048 bytes smem\n"
      "ptxas info    : Compiling entry function 'b' for 'sm_90a'\n"
      "ptxas info    : Function properties for b\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 30 registers, used 0 barriers\n");
  CHECK_EQ(kernels.size(), 2u);
  CHECK_EQ(kernels[0].name, std::string("a"));
  CHECK_EQ(kernels[0].num_registers, 168);
  CHECK_EQ(kernels[0].stack_bytes, 16);
  CHECK_EQ(kernels[0].spill_store_bytes, 8);
  CHECK_EQ(kernels[0].spill_load_bytes, 4);
  CHECK_EQ(kernels[0].smem_bytes, 2048);
  CHECK_EQ(kernels[1].num_registers, 30);
  CHECK_EQ(kernels[1].smem_bytes, 0);
  CHECK(cuda::parse_ptxas_log("").empty());
}

TEST(PtxasLog, ChecksRefuseSpillsLocalMemoryAndAMissingReport) {
  const std::string spills =
      "ptxas info    : Function properties for a\n"
      "    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n";
  cuda::CompileSettings settings;
  cuda::check_resources(settings, spills);
  settings.check_no_spills = true;
  CHECK_THROWS((cuda::check_resources(settings, spills), 0), kToolchain, "NO_SPILLS");
  CHECK_THROWS((cuda::check_resources(settings, ""), 0), kToolchain, "RESOURCE_REPORT");
  settings.check_no_spills = false;
  settings.check_no_local_memory = true;
  CHECK_THROWS((cuda::check_resources(settings, spills), 0), kToolchain, "NO_LOCAL_MEMORY");
}

TEST(Nvrtc, EveryTargetCompilesWithoutADeviceOrADriver) {
  if (!has_nvrtc()) return;
  const Config config = config_with();
  const CUDA backend(config, kEnv);
  const bool is_oldest = backend.compiler_info({}).version == "NVRTC 12.8";
  for (const std::string arch : {"80", "86", "89", "90a", "100a", "100f", "103", "120"}) {
    if (is_oldest && (arch == "100f" || arch == "103")) continue;  // came with 12.9
    const TempDir dir;
    const std::string command =
        backend.compile(kScale, dir.path(), kEnv, config, {.dump_ptx = true, .arch = arch});
    CHECK(command.find("nvrtc ") == 0);
    const std::string cubin = read(dir.path() / "kernel.cubin");
    CHECK_EQ(cubin.substr(0, 4), std::string("\x7f"
                                             "ELF"));
    CHECK_EQ(cuda::count_parameters(cubin, "scale").value_or(-1), 2);
    CHECK(!cuda::count_parameters(cubin, "scal"));
    CHECK(!cuda::count_parameters(cubin.substr(0, 100), "scale"));
    CHECK(read(dir.path() / "kernel.ptx").find(str::format(".target sm_{}", arch)) !=
          std::string::npos);
    CHECK_EQ(read(dir.path() / "kernel.cu"), std::string(kScale));
    const auto kernels = cuda::parse_ptxas_log(read(dir.path() / "compile.log"));
    CHECK_EQ(kernels.size(), 1u);
    CHECK(kernels.at(0).num_registers > 0);
    CHECK_EQ(kernels.at(0).stack_bytes, 0);
  }
}

TEST(Nvrtc, HeadersOfTheIncludeFoldersAreFoundAndBrokenSourceIsShownWhole) {
  if (!has_nvrtc()) return;
  const TempDir include, dir;
  include.add("mine.cuh", "constexpr int kMine = 7;\n");
  const Config config = config_with({include.path()});
  const CUDA backend(config, kEnv);
  backend.compile("#include <mine.cuh>\nextern \"C\" __global__ void k(int* p) { *p = kMine; }",
                  dir.path(), kEnv, config, {.arch = "90a"});
  const TempDir other;
  const std::string text = compile_error(backend, config, "void f() { return undeclared; }",
                                         other.path(), {.arch = "90a"});
  expect_parts(text, {"Toolchain", "identifier \"undeclared\" is undefined", "kernel.cu(1)",
                      "-arch=sm_90a", "whole log", "COMPILE_SUCCEEDS"});
  CHECK(!fs::exists(other.path() / "kernel.cubin"));
}

TEST(Nvrtc, AnUnknownTargetIsSaidWithTheCompilersName) {
  if (!has_nvrtc()) return;
  const TempDir dir;
  const Config config = config_with();
  const std::string text =
      compile_error(CUDA(config, kEnv), config, kScale, dir.path(), {.arch = "190a"});
  expect_parts(text, {"TARGET_KNOWN", "NVRTC", "190a"});
}

TEST(Nvrtc, LocalMemoryAndAFlagItDoesNotKnowAreRefused) {
  if (!has_nvrtc()) return;
  const TempDir dir;
  const Config config = config_with();
  const CUDA backend(config, kEnv);
  const std::string plain = compile_error(backend, config, kLocal, dir.path(), {.arch = "90a"});
  CHECK_EQ(plain, std::string("no error"));
  const std::string flag = compile_error(backend, config, kScale, dir.path(),
                                         {.arch = "90a", .extra_nvcc_flags = "--no-such-flag"});
  expect_parts(flag, {"--no-such-flag", "JIT_COMPILER=nvcc"});
}

TEST(Nvrtc, ThePostHookSeesTheFinishedFolder) {
  if (!has_nvrtc()) return;
  const TempDir dir;
  const Config config = config_with();
  bool saw_cubin = false;
  CUDA(config, kEnv)
      .compile(kScale, dir.path(), kEnv, config,
               {.arch = "90a", .post_hook = [&](const fs::path& folder) {
                  saw_cubin = fs::exists(folder / "kernel.cubin");
                }});
  CHECK(saw_cubin);
}

TEST(Nvrtc, ThreadsCompileAtTheSameTime) {
  if (!has_nvrtc()) return;
  const Config config = config_with();
  const CUDA backend(config, kEnv);
  std::vector<std::thread> threads;
  std::vector<std::string> cubins(4);
  for (std::size_t i = 0; i < cubins.size(); ++i) {
    threads.emplace_back([&, i] {
      const TempDir dir;
      backend.compile(kScale, dir.path(), kEnv, config, {.arch = "90a"});
      cubins[i] = read(dir.path() / "kernel.cubin");
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& cubin : cubins) CHECK(!cubin.empty() && cubin == cubins[0]);
}

TEST(Nvrtc, ALibraryThatDoesNotLoadIsRefusedAndTheVerdictSaysWhy) {
  const TempDir dir;
  const fs::path broken = dir.add("libnvrtc.so.13", std::string("\x7f"
                                                                "ELF\x02",
                                                                5) +
                                                        std::string(100, '\0'));
  dir.add("libnvrtc-builtins.so.13.0", "");
  const ScopedEnv path("PATH", "/nonexistent"), library("DJC_JIT_NVRTC_LIBRARY", broken.string()),
      compiler("DJC_JIT_COMPILER", "nvrtc");
  const Config config = config_with();
  const CUDA backend(config, kEnv);
  const TempDir out;
  const std::string text = compile_error(backend, config, kScale, out.path(), {.arch = "90a"});
  // Another NVRTC of the machine may have served; the broken one is in the report either way.
  CHECK(text == "no error" || text.find("COMPILER_PRESENT") != std::string::npos);
  expect_parts(backend.report(), {"refused: " + broken.string(), "NVRTC_LOADS"});
}

// A stub in nvcc's place: answers --version, then does what the test says.
struct StubNvcc {
  explicit StubNvcc(const std::string& body)
      : stub(dir.add("nvcc",
                     "#!/bin/sh\n"
                     "if [ \"$1\" = --version ]; then echo 'release 13.0, V13.0.88'; exit 0; fi\n"
                     "if [ \"$1\" = --dryrun ]; then exit 0; fi\n"
                     "out=; while [ $# -gt 0 ]; do [ \"$1\" = -o ] && out=$2; shift; done\n" +
                         body + "\n",
                     true)),
        nvcc("DJC_JIT_NVCC_COMPILER", stub.string()),
        compiler("DJC_JIT_COMPILER", "nvcc") {}
  TempDir dir;
  fs::path stub;
  ScopedEnv nvcc, compiler;
};

std::string stub_error(const std::string& body, bool* left_cubin = nullptr) {
  const StubNvcc stub(body);
  const Config config = config_with();
  const TempDir out;
  const std::string text =
      compile_error(CUDA(config, kEnv), config, kScale, out.path(), {.arch = "90a"});
  if (left_cubin != nullptr) *left_cubin = fs::exists(out.path() / "kernel.cubin");
  return text;
}

TEST(Nvcc, AFailureShowsCommandExitAndLogAndLeavesNoCubin) {
  bool left_cubin = true;
  expect_parts(stub_error("echo half > $out; echo 'the reason' >&2; exit 3", &left_cubin),
               {"Toolchain", "-gencode=arch=compute_90a,code=sm_90a", "3", "the reason"});
  CHECK(!left_cubin);
}

TEST(Nvcc, SuccessWithoutAFileAnEmptyFileOrATextIsAFailure) {
  expect_parts(stub_error("exit 0"), {"Toolchain", "0 bytes that are no cubin"});
  expect_parts(stub_error(": > $out"), {"0 bytes that are no cubin"});
  expect_parts(stub_error("echo text > $out"), {"5 bytes that are no cubin"});
}

TEST(Nvcc, AKilledCompilerIsNamedAsSuch) {
  bool left_cubin = true;
  expect_parts(stub_error("echo half > $out; kill -9 $$", &left_cubin), {"Toolchain", "9"});
  CHECK(!left_cubin);
}

TEST(Nvcc, AMegabyteOfLogIsKeptWhole) {
  const std::string text = stub_error(
      "i=0; while [ $i -lt 20000 ]; do echo 'a line of fifty characters, more or less "
      "so ......'; i=$((i+1)); done; echo the end; exit 1");
  CHECK(text.size() > 1000000);
  expect_parts(text, {"the end"});
}

TEST(Nvcc, ArgumentsReachItAsTheyAre) {
  const StubNvcc stub("exit 1");
  const Config config = config_with({"/a folder/with 'quotes' and $HOME"});
  const TempDir out;
  const std::string text = compile_error(CUDA(config, kEnv), config, kScale, out.path(),
                                         {.arch = "90a", .extra_nvcc_flags = "-DX='a b;c'"});
  expect_parts(text, {"-I/a folder/with 'quotes' and $HOME", "-DX=a b;c"});
}

TEST(Nvcc, OneThatIsTooOldIsRefusedByItsOwnAnswer) {
  const TempDir dir;
  const fs::path old = dir.add("nvcc",
                               "#!/bin/sh\necho 'Cuda compilation tools, release 12.1, "
                               "V12.1.66'\n",
                               true);
  const ScopedEnv nvcc("DJC_JIT_NVCC_COMPILER", old.string()), compiler("DJC_JIT_COMPILER", "nvcc"),
      path("PATH", "/nonexistent");
  const Config config = config_with();
  const CUDA backend(config, kEnv);
  try {
    backend.compiler_info({});
  } catch (const exception::Exception&) {
    // A default toolkit of this machine may serve instead.
  }
  expect_parts(backend.report(), {"release 12.1 is older than 12.8"});
}

TEST(Choice, AWordThatIsNoCompilerIsRefused) {
  const ScopedEnv compiler("DJC_JIT_COMPILER", "clang");
  const Config config = config_with();
  CHECK_THROWS(CUDA(config, kEnv).compiler_info({}), kInvalidArgument, "COMPILER_NAME");
}

TEST(Choice, IdentityFollowsTheCompilerAndFlagsFollowTheOptions) {
  const StubNvcc stub("exit 1");
  const Config config = config_with();
  const CUDA backend(config, kEnv);
  const CompilerInfo info = backend.compiler_info({});
  CHECK_EQ(info.version, std::string("nvcc 13.0"));
  CHECK_EQ(info.path, stub.stub.string());
  CHECK(info.identity.find(stub.dir.path().string()) == std::string::npos);
  CHECK(backend.build_key({}) != backend.build_key({.fast_math = true}));
  const std::string before = backend.build_key({});
  const ScopedEnv append("NVCC_APPEND_FLAGS", "-DHIDDEN");
  CHECK(backend.build_key({}) != before);
}

TEST(Backend, ATargetNeedsNoDeviceWhenItIsGiven) {
  const Config config = config_with();
  const CUDA backend(config, kEnv);
  CHECK_EQ(backend.target({.arch = "sm_90a"}), std::string("90a"));
  if (!cuda::driver::is_available()) CHECK_THROWS(backend.target({}), kDevice, "DRIVER_PRESENT");
}

}  // namespace

CHECK_MAIN()
