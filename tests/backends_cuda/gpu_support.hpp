// Device memory, streams and compiled kernels for the GPU cases, without the CUDA runtime.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <deep_jit/backend/cuda/backend.hpp>
#include <deep_jit/backend/cuda/tensor_map.hpp>
#include <deep_jit/runtime/runtime.hpp>

namespace gpu_test {

using namespace deep_jit;
namespace driver = cuda::driver;

struct Skip {
  std::string reason;
};

inline void expect(bool condition, const std::string& text) {
  if (!condition) DJ_FAIL(kInternal, "{}", text);
}

inline std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const exception::Exception& error) {
    return error.what();
  }
  return "no error";
}

// What crosses the C boundary: "" for success, "skip: ..." or the error's text.
template <class F>
const char* guarded(const F& body) {
  static thread_local std::string text;
  text.clear();
  try {
    body();
  } catch (const Skip& skip) {
    text = "skip: " + skip.reason;
  } catch (const std::exception& error) {
    text = error.what();
  }
  return text.c_str();
}

inline void make_current(int device = 0) {
  static std::mutex mutex;
  static std::map<int, cuda::PrimaryContext*> contexts;  // live as long as the process
  const std::lock_guard lock(mutex);
  cuda::PrimaryContext*& context = contexts[device];
  if (context == nullptr) context = new cuda::PrimaryContext(device);
  DJ_CUDA_DRIVER_CHECK(driver::lazy_cuCtxSetCurrent(context->get()));
}

template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t count) : count_(count) {
    DJ_CUDA_DRIVER_CHECK(driver::lazy_cuMemAlloc(&address_, count * sizeof(T)));
    write(std::vector<T>(count));
  }
  ~Buffer() { driver::lazy_cuMemFree(address_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T* pointer() const { return reinterpret_cast<T*>(address_); }
  void write(const std::vector<T>& values) {
    DJ_CUDA_DRIVER_CHECK(
        driver::lazy_cuMemcpyHtoD(address_, values.data(), values.size() * sizeof(T)));
  }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    DJ_CUDA_DRIVER_CHECK(driver::lazy_cuMemcpyDtoH(values.data(), address_, count_ * sizeof(T)));
    return values;
  }

 private:
  std::size_t count_;
  CUdeviceptr address_ = 0;
};

class Stream {
 public:
  Stream() { DJ_CUDA_DRIVER_CHECK(driver::lazy_cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING)); }
  ~Stream() { driver::lazy_cuStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  CUstream get() const { return stream_; }
  void wait() const { DJ_CUDA_DRIVER_CHECK(driver::lazy_cuStreamSynchronize(stream_)); }

 private:
  CUstream stream_ = nullptr;
};

inline constexpr const char* kAddSource = R"(
extern "C" __global__ void vector_add(int* out, const int* a, const int* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
})";

inline const Config& test_config() {
  static const Config config(std::filesystem::temp_directory_path().string(), "DJT");
  return config;
}

inline CUDA& backend() {
  static const Env env("DJT");
  static CUDA cuda_backend(test_config(), env);
  return cuda_backend;
}

// No cache: compiles and loads anew, into a folder of its own.
inline std::shared_ptr<cuda::Kernel> compile_fresh(const char* source,
                                                   const cuda::CompilerOptions& options = {},
                                                   int device = 0) {
  static std::atomic<int> number{0};
  make_current(device);
  const Env env("DJT");
  const auto dir = std::filesystem::temp_directory_path() /
                   str::format("djt_{}_{}", static_cast<int>(getpid()), number++);
  std::filesystem::create_directories(dir);
  backend().compile(source, dir, env, test_config(), options);
  auto kernel = CUDA::load(dir, env, device);
  std::error_code ignored;
  std::filesystem::remove_all(dir, ignored);
  return kernel;
}

inline std::shared_ptr<cuda::Kernel> get_kernel(const std::string& key, const char* source,
                                                int device = 0) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<cuda::Kernel>> kernels;
  make_current(device);
  const std::lock_guard lock(mutex);
  auto& kernel = kernels[key + str::format("@{}", device)];
  if (kernel == nullptr) kernel = compile_fresh(source, {}, device);
  return kernel;
}

inline void expect_vector_add(const std::shared_ptr<cuda::Kernel>& kernel, int device = 0) {
  make_current(device);
  constexpr int kCount = 1000;
  std::vector<int> a(kCount), b(kCount);
  for (int i = 0; i < kCount; ++i) a[i] = i * 3, b[i] = 7 - i;
  Buffer<int> out(kCount), first(kCount), second(kCount);
  first.write(a);
  second.write(b);
  Stream stream;
  kernel->launch({.stream = stream.get(), .grid_dim = 4, .block_dim = 256}, out.pointer(),
                 first.pointer(), second.pointer(), kCount);
  stream.wait();
  const std::vector<int> got = out.read();
  for (int i = 0; i < kCount; ++i)
    expect(got[i] == a[i] + b[i], str::format("element {}: got {}", i, got[i]));
}

inline void run_threads(int num_threads, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(num_threads));
  for (int i = 0; i < num_threads; ++i) {
    threads.emplace_back([&, i] {
      try {
        make_current();
        body(i);
      } catch (...) {
        errors[static_cast<std::size_t>(i)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

// Median microseconds of one call, over batches short enough not to fill the launch queue.
inline double median_us(const std::function<void()>& call, const Stream& stream) {
  constexpr int kBatches = 61, kCalls = 200;
  std::vector<double> times;
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    const auto end = std::chrono::steady_clock::now();
    times.push_back(std::chrono::duration<double, std::micro>(end - start).count() / kCalls);
    stream.wait();
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// The bare driver call beside ours, same kernel, same options; twice, to show the spread.
inline std::string launch_cost_table() {
  const auto kernel = get_kernel("add", kAddSource);
  Stream stream;
  Buffer<int> buffer(256);
  int* pointer = buffer.pointer();
  int count = 256;
  const CUfunction function = kernel->get_function().function;
  const cuda::LaunchOptions options{.stream = stream.get(), .grid_dim = 1, .block_dim = 256};
  const auto bare = [&] {
    void* arguments[] = {&pointer, &pointer, &pointer, &count};
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 256, config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream.get();
    DJ_CUDA_DRIVER_CHECK(driver::lazy_cuLaunchKernelEx(&config, function, arguments, nullptr));
  };
  const auto ours = [&] { kernel->launch(options, pointer, pointer, pointer, count); };
  Runtime<CUDA> jit(test_config());
  const auto whole = [&] { jit.launch(kernel, options, pointer, pointer, pointer, count); };
  std::string table = "launch cost, us a call, median of 61 batches of 200\n";
  for (int round = 0; round < 3; ++round) {
    table += str::format(
        "  bare cuLaunchKernelEx {:.3f}  Kernel::launch {:.3f}  "
        "Runtime<CUDA>::launch {:.3f}\n",
        median_us(bare, stream), median_us(ours, stream), median_us(whole, stream));
  }
  return table;
}

// What the first use of a source costs in this process, in milliseconds. Whether it is cold or a
// disk hit is up to the cache folder.
inline std::string first_call_table(const std::string& source_file,
                                    const std::string& include_dir) {
  using Clock = std::chrono::steady_clock;
  const auto ms = [](Clock::time_point start, Clock::time_point end) {
    return std::chrono::duration<double, std::milli>(end - start).count();
  };
  const std::string source = cuda::detail::read_binary(source_file);
  const auto start = Clock::now();
  make_current();
  const auto ready = Clock::now();
  Runtime<CUDA> jit(Config(std::filesystem::temp_directory_path(), "DJT", "", {include_dir}));
  const auto kernel = jit.compile("sm90_fp8_gemm", source);
  const auto first = Clock::now();
  jit.compile("sm90_fp8_gemm", source);
  const auto again = Clock::now();
  const Counters& counters = jit.events.counters;
  const auto& function = kernel->get_function();
  return str::format(
      "context {:.1f}, first call {:.2f} (compiles {}: {:.1f}, disk hits {}, load "
      "{:.2f}), second call {:.3f}; {} registers, {} local bytes",
      ms(start, ready), ms(ready, first), counters.compiles.load(), counters.compile_ms.load(),
      counters.disk_hits.load(), counters.load_ms.load(), ms(first, again), function.num_registers,
      function.local_bytes);
}

}  // namespace gpu_test
