// What is read off a cubin, on cubins that NVRTC makes for each target.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <deep_jit/backend/cuda/backend.hpp>
#include <deep_jit/utils/uuid.hpp>

#include "tests/support/check.hpp"

namespace {

using namespace deep_jit;
namespace fs = std::filesystem;

// The wait stands in the open, in a call that is not inlined, behind a branch, and nowhere.
constexpr const char* kSource = R"(
__device__ __noinline__ int wait_in_a_call(int x) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  return x + static_cast<int>(clock());
}
extern "C" __global__ void open(int* out) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  out[threadIdx.x] = 1;
}
extern "C" __global__ void called(int* out, int n) { out[threadIdx.x] = wait_in_a_call(n); }
extern "C" __global__ void branch(int* out, int n, int m) {
  if (n > 3) asm volatile("griddepcontrol.wait;" ::: "memory");
  out[threadIdx.x] = m;
}
extern "C" __global__ void never(int* out) {
  asm volatile("griddepcontrol.launch_dependents;");
  out[threadIdx.x] = 1;
})";

std::string compile(const std::string& arch) {
  const Env env("DJC");
  const Config config("/nonexistent/package", "DJC");
  const fs::path dir = fs::temp_directory_path() / get_uuid();
  fs::create_directories(dir);
  CUDA(config, env).compile(kSource, dir, env, config, {.arch = arch});
  const std::string cubin = cuda::detail::read_binary(dir / cuda::kCubinFile);
  fs::remove_all(dir);
  return cubin;
}

bool has_nvrtc() {
  const Config config("/nonexistent/package", "DJC");
  const auto places = cuda::SearchPlaces::of_process(config, Env("DJC"));
  if (cuda::find_nvrtc(places).chosen()->path.has_parent_path()) return true;
  std::puts("skipped: no NVRTC on this machine (set DJ_JIT_NVRTC_LIBRARY)");
  return false;
}

struct Target {
  const char* arch;
  int major;
};

TEST(CubinInfo, AWaitIsFoundWhereverItStandsAndNowhereElse) {
  if (!has_nvrtc()) return;
  for (const auto& [arch, major] : {Target{"90a", 9}, {"100a", 10}, {"120", 12}}) {
    const std::string cubin = compile(arch);
    for (const char* kernel : {"open", "called", "branch"})
      CHECK_EQ(cuda::waits_on_device(cubin, kernel, major).value_or(false), true);
    CHECK_EQ(cuda::waits_on_device(cubin, "never", major).value_or(true), false);
    CHECK_EQ(cuda::count_parameters(cubin, "branch").value_or(-1), 3);
  }
}

TEST(CubinInfo, WhatCannotBeKnownIsNotGuessed) {
  if (!has_nvrtc()) return;
  const std::string cubin = compile("90a");
  CHECK(!cuda::waits_on_device(cubin, "absent", 9));
  CHECK(!cuda::waits_on_device(cubin, "neve", 9));
  CHECK(!cuda::waits_on_device(cubin, "never", 8));
  CHECK(!cuda::waits_on_device(cubin, "never", 13));
  for (const std::size_t size : {0, 10, 64, 100, 200})
    CHECK(!cuda::waits_on_device(cubin.substr(0, size), "never", 9));
  CHECK(!cuda::waits_on_device(std::string(4096, '\xff'), "never", 9));
}

}  // namespace

CHECK_MAIN()
