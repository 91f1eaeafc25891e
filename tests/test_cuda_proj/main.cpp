// A library that embeds Runtime<CUDA>, as small as one can be: tests/test_cuda.py loads it with
// ctypes and asks it to compile, to launch and to say what it did.
//
//   demo_init("/abs/path/of/this/folder");      // once
//   demo_compile("90a", variant);               // entry's folder; no GPU and no driver needed
//   demo_run(variant);                          // compiles, loads, launches, checks the numbers
//
// Each function returns text: an answer, or "error: ..." with the whole message.
#include <deep_jit/backend/cuda/backend.hpp>
#include <deep_jit/runtime/precompile.hpp>
#include <deep_jit/runtime/runtime.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace deep_jit;

std::unique_ptr<Runtime<CUDA>> g_jit;

template <class F>
const char* answer(const F& body) {
  static thread_local std::string text;
  try {
    text = body();
  } catch (const std::exception& error) {
    text = std::string("error: ") + error.what();
  }
  return text.c_str();
}

// `variant` makes kernels that differ in one number, and hence in their key.
std::string make_source(int variant) {
  return str::format(R"(#include <demo/add.cuh>
extern "C" __global__ void demo_add(int* out, const int* a, const int* b, int n) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = demo::add(a[i], b[i]) + {};
}})",
                     variant);
}

class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<int>& values) : bytes_(values.size() * sizeof(int)) {
    DJ_CUDA_DRIVER_CHECK(cuda::driver::lazy_cuMemAlloc(&address_, bytes_));
    DJ_CUDA_DRIVER_CHECK(cuda::driver::lazy_cuMemcpyHtoD(address_, values.data(), bytes_));
  }
  ~DeviceArray() { cuda::driver::lazy_cuMemFree(address_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  int* pointer() const { return reinterpret_cast<int*>(address_); }
  std::vector<int> read() const {
    std::vector<int> values(bytes_ / sizeof(int));
    DJ_CUDA_DRIVER_CHECK(cuda::driver::lazy_cuMemcpyDtoH(values.data(), address_, bytes_));
    return values;
  }

 private:
  std::size_t bytes_;
  CUdeviceptr address_ = 0;
};

// Launches on stream 0 by choice, and compares every element.
std::string launch_and_check(const std::shared_ptr<cuda::Kernel>& kernel, int variant) {
  constexpr int kCount = 1000;
  std::vector<int> a(kCount), b(kCount);
  for (int i = 0; i < kCount; ++i) a[i] = 5 * i, b[i] = 3 - i;
  const DeviceArray out(std::vector<int>(kCount, -1)), first(a), second(b);
  g_jit->launch(kernel, {.stream = nullptr, .grid_dim = 8, .block_dim = 128}, out.pointer(),
                first.pointer(), second.pointer(), kCount);
  const std::vector<int> got = out.read();
  for (int i = 0; i < kCount; ++i) {
    if (got[i] != a[i] + b[i] + variant) return str::format("error: element {}: got {}", i, got[i]);
  }
  return "ok";
}

}  // namespace

#define DEMO_EXPORT extern "C" __attribute__((visibility("default")))

DEMO_EXPORT const char* demo_init(const char* root) {
  return answer([&] {
    const std::filesystem::path folder(root);
    g_jit = std::make_unique<Runtime<CUDA>>(Config(folder, "DEMO", "demo 1", {folder / "include"}));
    return std::string("ok");
  });
}

DEMO_EXPORT const char* demo_compile(const char* arch, int variant) {
  return answer([&] {
    return g_jit->compile_without_load("demo_add", make_source(variant), {.arch = arch}).string();
  });
}

DEMO_EXPORT const char* demo_cache_key(const char* arch, int variant) {
  return answer([&] { return g_jit->cache_key(make_source(variant), {.arch = arch}); });
}

DEMO_EXPORT const char* demo_precompile(const char* arch, int num_kernels) {
  return answer([&] {
    std::vector<KernelRequest<CUDA>> requests;
    for (int i = 0; i < num_kernels; ++i)
      requests.push_back({"demo_add", make_source(i), {.arch = arch}});
    const PrecompileReport report = precompile<CUDA>(*g_jit, requests, 2);
    std::string text = str::format("{} of {}", report.total - report.failures.size(), report.total);
    for (const auto& failure : report.failures) text += "\n" + failure.message;
    return text;
  });
}

DEMO_EXPORT const char* demo_run(int variant) {
  return answer([&] {
    const auto kernel = g_jit->compile("demo_add", make_source(variant));
    const std::string cold = launch_and_check(kernel, variant);
    return cold != "ok" ? cold : launch_and_check(kernel, variant);
  });
}

// Threads that ask for one cold key at the same moment.
DEMO_EXPORT const char* demo_race(int num_threads, int variant) {
  return answer([&] {
    std::vector<std::string> answers(static_cast<std::size_t>(num_threads));
    std::vector<std::thread> threads;
    for (std::string& text : answers) {
      threads.emplace_back([&, variant] {
        text = answer([&] {
          return g_jit->compile_without_load("demo_add", make_source(variant), {.arch = "90a"})
              .string();
        });
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& text : answers)
      if (text != answers[0]) return "error: " + text + " beside " + answers[0];
    return answers[0];
  });
}

DEMO_EXPORT const char* demo_counters() {
  return answer([&] {
    const Counters& counters = g_jit->events.counters;
    return str::format("compiles={} disk_hits={} memory_hits={} loads={}", counters.compiles.load(),
                       counters.disk_hits.load(), counters.memory_hits.load(),
                       counters.loads.load());
  });
}

DEMO_EXPORT const char* demo_report() {
  return answer([&] { return g_jit->backend.report(); });
}
