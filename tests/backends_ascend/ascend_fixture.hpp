// A private toolkit made of the simulator's parts, a private cache, and memory of the simulated
// NPU.
//
//   AscendDir dir;                                 // ASCEND_HOME_PATH and the cache point into it
//   AscendJit jit(dir.config());
//   auto kernel = jit.compile("add", kAddSource);
//   DeviceArray<float> out(64);
//   sim().fail("aclrtMalloc", 1, ACL_ERROR_RT_DEVICE_OOM);
//
// Leaves assertions to the tests.
#pragma once

#include <dlfcn.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <deep_jit/backend/ascend/backend.hpp>

namespace fs = std::filesystem;
using AscendJit = deep_jit::Runtime<deep_jit::Ascend>;
namespace acl = deep_jit::ascend::driver;

// out[i] = a[i] + add, over the blocks; the char makes the packing rules matter.
inline constexpr std::string_view kAddSource =
    "#include \"kernel_operator.h\"\n"
    "extern \"C\" __global__ __vector__ void add(__gm__ float* out, __gm__ const float* a,\n"
    "                                          char add, double scale, int n) {\n"
    "  for (int64_t i = AscendC::GetBlockIdx(); i < n; i += AscendC::GetBlockNum())\n"
    "    out[i] = a[i] * (float)scale + add;\n"
    "}\n";

// Where Bazel, or whoever sets the variable, has built the parts.
inline fs::path simulator_dir() {
  const char* given = std::getenv("ASCEND_SIM_DIR");
  return fs::absolute(given == nullptr ? "tests/backends_ascend/simulator" : given);
}

// The layout of an installed CANN, by links.
inline void lay_out_toolkit(const fs::path& root, const std::string& machine = "x86_64") {
  const auto link = [&](const fs::path& from, const fs::path& to) {
    fs::create_directories((root / to).parent_path());
    fs::create_symlink(fs::canonical(simulator_dir() / from), root / to);
  };
  link("bisheng", "bin/bisheng");
  link("ld.lld", "bin/ld.lld");
  link("libascendcl.so", "lib64/libascendcl.so");
  link("libacl_rtc.so", "lib64/libacl_rtc.so");
  for (const char* header : {"kernel_operator.h", "sim_tensors.h"})
    link(fs::path("toolkit") / header, fs::path("include") / header);
  const std::string half = machine + "-linux";
  link("toolkit/adv_api_sim.h", half + "/asc/include/adv_api/adv_api_sim.h");
  std::ofstream(root / half / "ascend_toolkit_install.info") << "package=toolkit\nversion=9.0.0\n";
}

class AscendDir {
 public:
  explicit AscendDir(std::string_view suffix = "") {
    std::string pattern = (fs::temp_directory_path() / "dj_ascend_XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    path_ = root_ / ("d" + std::string(suffix));
    fs::create_directories(path_ / "lib" / "include");
    lay_out_toolkit(path_ / "cann", deep_jit::ascend::SearchPlaces::host_machine());
    setenv("ASCEND_HOME_PATH", (path_ / "cann").c_str(), 1);
    setenv("ASCT_JIT_CACHE_DIR", (path_ / "cache").c_str(), 1);
    setenv("SIM_TOOL_LOG", (path_ / "tools.log").c_str(), 1);
    for (const char* name : {"ASCEND_TOOLKIT_HOME", "ASCT_JIT_COMPILER", "ASCT_JIT_MODE",
                             "ASCT_JIT_BISHENG_COMPILER", "SIM_BISHENG_FAILS", "SIM_BISHENG_MS"})
      unsetenv(name);
  }
  ~AscendDir() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  const fs::path& path() const { return path_; }
  fs::path toolkit() const { return path_ / "cann"; }
  deep_jit::Config config() const {
    return deep_jit::Config(path_ / "lib", "ASCT", "", {path_ / "lib" / "include"});
  }
  void write(const fs::path& relative, std::string_view text) const {
    fs::create_directories((path_ / relative).parent_path());
    std::ofstream(path_ / relative) << text;
  }
  // Runs of one of the tools: "bisheng", "ld.lld", "aclrtc".
  int num_runs(std::string_view tool) const {
    std::ifstream file(path_ / "tools.log");
    int count = 0;
    for (std::string line; std::getline(file, line);) count += line == tool ? 1 : 0;
    return count;
  }

 private:
  fs::path root_, path_;
};

// The switches of simulator/sim.h, found in the library that the product has loaded.
struct Simulator {
  void (*fail)(const char* function, int nth, int code);
  void (*latency_us)(long);
  long (*calls)(const char* function);
  const char* (*violations)();
  void (*names_are_halves)(int);
  void (*is_old)(int);
};
inline const Simulator& sim() {
  static const Simulator found = [] {
    Simulator made{};
    const auto bind = [](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          dlsym(acl::get_library(), name));
    };
    bind(made.fail, "sim_fail");
    bind(made.latency_us, "sim_latency_us");
    bind(made.calls, "sim_calls");
    bind(made.violations, "sim_violations");
    bind(made.names_are_halves, "sim_names_are_halves");
    bind(made.is_old, "sim_is_old");
    return made;
  }();
  return found;
}

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count, T value = {}) : count_(count) {
    DJ_ACL_CHECK(acl::lazy_aclrtMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T),
                                       ACL_MEM_MALLOC_HUGE_FIRST));
    write(std::vector<T>(count, value));
  }
  ~DeviceArray() { free(); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  void free() {
    if (data_ != nullptr) acl::lazy_aclrtFree(data_);
    data_ = nullptr;
  }
  void write(const std::vector<T>& values) {
    DJ_ACL_CHECK(acl::lazy_aclrtMemcpy(data_, count_ * sizeof(T), values.data(),
                                       values.size() * sizeof(T), ACL_MEMCPY_HOST_TO_DEVICE));
  }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    DJ_ACL_CHECK(acl::lazy_aclrtMemcpy(values.data(), count_ * sizeof(T), data_, count_ * sizeof(T),
                                       ACL_MEMCPY_DEVICE_TO_HOST));
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

// A device for the calling thread, as a program with an NPU has it, and a stream of its own.
class DeviceStream {
 public:
  explicit DeviceStream(int device = 0) {
    acl::ensure_initialized();
    DJ_ACL_CHECK(acl::lazy_aclrtSetDevice(device));
    DJ_ACL_CHECK(acl::lazy_aclrtCreateStream(&stream_));
  }
  ~DeviceStream() { acl::lazy_aclrtDestroyStream(stream_); }
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  aclrtStream get() const { return stream_; }
  void synchronize() const { DJ_ACL_CHECK(acl::lazy_aclrtSynchronizeStream(stream_)); }

 private:
  aclrtStream stream_ = nullptr;
};

// Runs the kernel of kAddSource and says whether every element is right.
inline bool adds_right(AscendJit& jit, const std::shared_ptr<deep_jit::ascend::Kernel>& kernel,
                       const DeviceStream& stream, int blocks, bool use_args_array = false) {
  constexpr int kCount = 100;
  DeviceArray<float> out(kCount, -1.0f), a(kCount);
  std::vector<float> values(kCount);
  for (int i = 0; i < kCount; ++i)
    values[static_cast<std::size_t>(i)] = 0.5f * static_cast<float>(i);
  a.write(values);
  jit.launch(kernel, {.stream = stream.get(), .grid_dim = blocks, .use_args_array = use_args_array},
             out.data(), a.data(), char{3}, 2.0, kCount);
  stream.synchronize();
  const auto got = out.read();
  for (int i = 0; i < kCount; ++i)
    if (got[static_cast<std::size_t>(i)] != static_cast<float>(i + 3)) return false;
  return true;
}
