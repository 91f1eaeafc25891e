// The GPU tests of the CUDA back end, one exported function a case, loaded by test_gpu.py into a
// Python that may or may not hold torch. A case returns "" or says what went wrong.
//
//   const char* djt_run(const char* name);        // the cases that need nothing from outside
//   const char* djt_add(out, a, b, n, stream, has_stream);   // one launch on the caller's memory
//
// Leaves what needs torch's headers to torch_streams.cpp. Longer than usual: the
// cases are independent and their table is what test_gpu.py reads.
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "gpu_support.hpp"

namespace {

using namespace deep_jit;
using gpu_test::Buffer;
using gpu_test::expect;
using gpu_test::get_kernel;
using gpu_test::Stream;

void vector_add_on_an_explicit_stream() {
  gpu_test::expect_vector_add(get_kernel("add", gpu_test::kAddSource));
}

void vector_add_built_by_nvcc() {
  setenv("DJT_JIT_COMPILER", "nvcc", 1);
  gpu_test::expect_vector_add(get_kernel("add_nvcc", gpu_test::kAddSource));
  unsetenv("DJT_JIT_COMPILER");
}

void an_unset_stream_without_torch_is_refused_and_the_context_stays_usable() {
  const auto kernel = get_kernel("add", gpu_test::kAddSource);
  Buffer<int> out(32);
  const std::string text = gpu_test::error_of([&] {
    kernel->launch({.grid_dim = 1, .block_dim = 32}, out.pointer(), out.pointer(), out.pointer(),
                   32);
  });
  expect(text.find("STREAM_KNOWN") != std::string::npos, text);
  gpu_test::expect_vector_add(kernel);
}

constexpr const char* kClusterSource = R"(
extern "C" __global__ void cluster_rank(int* out) {
  unsigned rank, size;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  if (threadIdx.x == 0) out[blockIdx.x] = static_cast<int>(size * 100 + rank);
})";

void clusters_of_4_and_16_blocks_run_and_others_are_refused() {
  const auto kernel = get_kernel("cluster", kClusterSource);
  Stream stream;
  for (const unsigned size : {1u, 2u, 4u, 8u, 16u}) {
    Buffer<int> out(32);
    kernel->launch({.stream = stream.get(),
                    .grid_dim = 32,
                    .block_dim = 32,
                    .cluster_dim = size,
                    .nonportable_cluster_size_allowed = size > 8},
                   out.pointer());
    stream.wait();
    const std::vector<int> got = out.read();
    for (unsigned i = 0; i < 32; ++i) {
      expect(got[i] == static_cast<int>(size * 100 + i % size),
             str::format("cluster of {}: block {} says {}", size, i, got[i]));
    }
  }
  Buffer<int> out(32);
  for (const unsigned size : {3u, 16u}) {
    const std::string text = gpu_test::error_of([&] {
      kernel->launch({.stream = stream.get(), .grid_dim = 32, .block_dim = 32, .cluster_dim = size},
                     out.pointer());
    });
    expect(text.find("LAUNCH_CLUSTER") != std::string::npos, text);
  }
}

constexpr const char* kGridBarrierSource = R"(
extern "C" __global__ void grid_barrier(unsigned* arrived, unsigned* late) {
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1u);
    while (atomicAdd(arrived, 0u) < gridDim.x) {}
    if (atomicAdd(arrived, 0u) != gridDim.x) atomicAdd(late, 1u);
  }
})";

void a_cooperative_grid_meets_at_its_barrier_and_a_larger_one_is_refused_by_name() {
  const auto kernel = get_kernel("grid_barrier", kGridBarrierSource);
  const int num_sms = kernel->get_binary().prop().multiProcessorCount;
  Stream stream;
  Buffer<unsigned> arrived(1), late(1);
  kernel->launch(
      {.stream = stream.get(), .grid_dim = num_sms, .block_dim = 128, .cooperative = true},
      arrived.pointer(), late.pointer());
  stream.wait();
  expect(arrived.read()[0] == static_cast<unsigned>(num_sms), "not every block arrived");
  expect(late.read()[0] == 0, "a block left the barrier early");
  const std::string text = gpu_test::error_of([&] {
    kernel->launch(
        {.stream = stream.get(), .grid_dim = num_sms * 1000, .block_dim = 128, .cooperative = true},
        arrived.pointer(), late.pointer());
  });
  expect(text.find("grid_barrier") != std::string::npos &&
             text.find("COOPERATIVE_LAUNCH_TOO_LARGE") != std::string::npos,
         text);
}

constexpr const char* kPdlSource = R"(
extern "C" __global__ void produce(int* data, int value) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  for (int i = 0; i < 2000; ++i) __nanosleep(20);
  data[blockIdx.x * blockDim.x + threadIdx.x] = value;
}
extern "C" __global__ void consume(const int* data, int* out) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = *reinterpret_cast<const volatile int*>(data + i) + 1;
})";

void programmatic_launches_see_what_the_kernel_before_wrote() {
  const auto binary = get_kernel("pdl", kPdlSource);
  const auto produce = binary->by_name("produce");
  const auto consume = binary->by_name("consume");
  Stream stream;
  Buffer<int> data(1024), out(1024);
  for (int repeat = 0; repeat < 40; ++repeat) {
    const bool pdl = repeat % 2 == 0;
    const cuda::LaunchOptions options{
        .stream = stream.get(), .grid_dim = 8, .block_dim = 128, .enable_pdl = pdl};
    produce->launch(options, data.pointer(), repeat);
    consume->launch(options, data.pointer(), out.pointer());
    stream.wait();
    const std::vector<int> got = out.read();
    for (const int value : got)
      expect(value == repeat + 1, str::format("repeat {}: got {}", repeat, value));
  }
}

void a_programmatic_launch_of_a_kernel_that_never_waits_is_refused() {
  const auto kernel = get_kernel("add", gpu_test::kAddSource);
  if (kernel->get_binary().prop().major < 9) throw gpu_test::Skip{"PDL is ignored below 9.0"};
  Stream stream;
  Buffer<int> out(32);
  const std::string text = gpu_test::error_of([&] {
    kernel->launch({.stream = stream.get(), .grid_dim = 1, .block_dim = 32, .enable_pdl = true},
                   out.pointer(), out.pointer(), out.pointer(), 32);
  });
  expect(
      text.find("PDL_WAIT") != std::string::npos && text.find("'vector_add'") != std::string::npos,
      text);
  gpu_test::expect_vector_add(kernel);
}

void several_kernels_in_a_binary_are_launched_by_name() {
  const auto binary = get_kernel("pdl", kPdlSource);
  Stream stream;
  Buffer<int> data(1);
  const std::string none = gpu_test::error_of([&] {
    binary->launch({.stream = stream.get(), .grid_dim = 1, .block_dim = 1}, data.pointer(), 1);
  });
  expect(none.find("'produce'") != std::string::npos && none.find("by_name") != std::string::npos,
         none);
  const std::string unknown = gpu_test::error_of([&] { binary->by_name("absent"); });
  expect(unknown.find("'consume'") != std::string::npos, unknown);
}

constexpr const char* kSmemSource = R"(
extern "C" __global__ void fill_smem(int* out, int words) {
  extern __shared__ int smem[];
  for (int i = threadIdx.x; i < words; i += blockDim.x) smem[i] = i;
  __syncthreads();
  long long sum = 0;
  for (int i = threadIdx.x; i < words; i += blockDim.x) sum += smem[(i * 7) % words];
  atomicAdd(out, static_cast<int>(sum));
})";

void threads_that_launch_with_different_shared_memory_do_not_disturb_each_other() {
  const auto kernel = get_kernel("smem", kSmemSource);
  const int most = kernel->get_function().max_dynamic_smem_bytes;
  gpu_test::run_threads(8, [&](int thread) {
    Stream stream;
    for (int repeat = 0; repeat < 200; ++repeat) {
      const int bytes = thread % 2 == 0 ? most : 1024 * (1 + repeat % 4);
      const int words = bytes / 4;
      Buffer<int> out(1);
      kernel->launch(
          {.stream = stream.get(), .num_smem_bytes = bytes, .grid_dim = 1, .block_dim = 256},
          out.pointer(), words);
      stream.wait();
      const auto want = static_cast<std::uint32_t>(std::uint64_t(words) * (words - 1) / 2);
      // 7 and the number of words share no factor here, so the sum visits each word once.
      if (words % 7 != 0) {
        expect(static_cast<std::uint32_t>(out.read()[0]) == want,
               str::format("{} bytes: got {}", bytes, out.read()[0]));
      }
    }
  });
}

void threads_that_compile_and_load_one_source_all_get_a_working_kernel() {
  gpu_test::run_threads(
      6, [&](int) { gpu_test::expect_vector_add(gpu_test::compile_fresh(gpu_test::kAddSource)); });
}

void wrong_launches_are_refused_in_words_and_leave_the_device_usable() {
  const auto kernel = get_kernel("add", gpu_test::kAddSource);
  Stream stream;
  Buffer<int> out(64);
  int* const p = out.pointer();
  const auto refused = [&](const cuda::LaunchOptions& options, const char* rule) {
    const std::string text = gpu_test::error_of([&] { kernel->launch(options, p, p, p, 64); });
    expect(text.find(rule) != std::string::npos && text.find("'vector_add'") != std::string::npos,
           text);
  };
  refused({.stream = stream.get(), .num_smem_bytes = 1 << 20, .grid_dim = 1, .block_dim = 64},
          "LAUNCH_SMEM");
  refused({.stream = stream.get(), .grid_dim = 1, .block_dim = 2048}, "LAUNCH_BLOCK");
  refused({.stream = stream.get(), .grid_dim = 0, .block_dim = 64}, "LAUNCH_GRID");
  const cuda::LaunchOptions good{.stream = stream.get(), .grid_dim = 1, .block_dim = 64};
  const std::string count = gpu_test::error_of([&] { kernel->launch(good, p, p, p); });
  expect(count.find("ARGUMENT_COUNT") != std::string::npos, count);
  const std::string bytes =
      gpu_test::error_of([&] { kernel->launch(good, p, p, p, static_cast<short>(64)); });
  expect(bytes.find("ARGUMENT_BYTES") != std::string::npos, bytes);
  gpu_test::expect_vector_add(kernel);
}

void a_binary_for_another_gpu_is_refused_with_the_devices_name() {
  const std::string text =
      gpu_test::error_of([] { gpu_test::compile_fresh(gpu_test::kAddSource, {.arch = "120a"}); });
  expect(text.find("compile for this device") != std::string::npos, text);
  gpu_test::expect_vector_add(get_kernel("add", gpu_test::kAddSource));
}

constexpr const char* kTmaSource = R"(
#include <cstdint>
struct alignas(64) TensorMap { char bytes[128]; };
extern "C" __global__ void tma_copy(const __grid_constant__ TensorMap map, int* out, int x, int y) {
  __shared__ alignas(128) int tile[8 * 32];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = static_cast<uint32_t>(__cvta_generic_to_shared(&barrier));
  const uint32_t dst = static_cast<uint32_t>(__cvta_generic_to_shared(tile));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar));
    asm volatile("fence.mbarrier_init.release.cluster;");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(1024));
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3}], [%4];" ::"r"(dst), "l"(&map), "r"(x), "r"(y), "r"(bar)
        : "memory");
  }
  __syncthreads();
  uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}"
        : "=r"(done) : "r"(bar) : "memory");
  }
  out[threadIdx.x] = tile[threadIdx.x];
})";

void a_tensor_map_copies_a_tile_and_a_patched_one_copies_from_the_new_address() {
  const auto kernel = get_kernel("tma", kTmaSource);
  constexpr int kColumns = 64, kRows = 40;
  Buffer<int> first(kColumns * kRows), second(kColumns * kRows), out(8 * 32);
  std::vector<int> values(kColumns * kRows);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i);
  first.write(values);
  for (int& value : values) value += 1000000;
  second.write(values);
  const cuda::TensorMapDesc desc{.name = "a",
                                 .dtype = CU_TENSOR_MAP_DATA_TYPE_INT32,
                                 .sizes = {kColumns, kRows},
                                 .strides_bytes = {kColumns * 4},
                                 .box = {32, 8}};
  CUtensorMap map = cuda::encode_tensor_map(desc, first.pointer());
  Stream stream;
  for (const int offset : {0, 1000000}) {
    kernel->launch({.stream = stream.get(), .grid_dim = 1, .block_dim = 256}, map, out.pointer(),
                   32, 16);
    stream.wait();
    const std::vector<int> got = out.read();
    for (int i = 0; i < 256; ++i) {
      const int want = offset + (16 + i / 32) * kColumns + 32 + i % 32;
      expect(got[i] == want, str::format("element {}: got {}, want {}", i, got[i], want));
    }
    cuda::patch_tensor_map(map, second.pointer());
  }
}

void two_devices_each_get_their_own_kernel() {
  if (cuda::Device::count() < 2) throw gpu_test::Skip{"one device only"};
  for (const int index : {1, 0})
    gpu_test::expect_vector_add(gpu_test::compile_fresh(gpu_test::kAddSource, {}, index), index);
}

#define DJT_CASE(name) {#name, &name}
const std::map<std::string, void (*)()> kCases = {
    DJT_CASE(vector_add_on_an_explicit_stream),
    DJT_CASE(vector_add_built_by_nvcc),
    DJT_CASE(an_unset_stream_without_torch_is_refused_and_the_context_stays_usable),
    DJT_CASE(clusters_of_4_and_16_blocks_run_and_others_are_refused),
    DJT_CASE(a_cooperative_grid_meets_at_its_barrier_and_a_larger_one_is_refused_by_name),
    DJT_CASE(programmatic_launches_see_what_the_kernel_before_wrote),
    DJT_CASE(a_programmatic_launch_of_a_kernel_that_never_waits_is_refused),
    DJT_CASE(several_kernels_in_a_binary_are_launched_by_name),
    DJT_CASE(threads_that_launch_with_different_shared_memory_do_not_disturb_each_other),
    DJT_CASE(threads_that_compile_and_load_one_source_all_get_a_working_kernel),
    DJT_CASE(wrong_launches_are_refused_in_words_and_leave_the_device_usable),
    DJT_CASE(a_binary_for_another_gpu_is_refused_with_the_devices_name),
    DJT_CASE(a_tensor_map_copies_a_tile_and_a_patched_one_copies_from_the_new_address),
    DJT_CASE(two_devices_each_get_their_own_kernel),
};

}  // namespace

#define DJT_EXPORT extern "C" __attribute__((visibility("default")))

DJT_EXPORT const char* djt_run(const char* name) {
  return gpu_test::guarded([&] { kCases.at(name)(); });
}

// Newline-separated, for the Python side to make one test of each.
DJT_EXPORT const char* djt_names() {
  static std::string names;
  names.clear();
  for (const auto& [name, function] : kCases) names += name + "\n";
  return names.c_str();
}

DJT_EXPORT const char* djt_add(int* out, const int* a, const int* b, int n, void* stream,
                               int has_stream, int device, int is_cold) {
  return gpu_test::guarded([&] {
    // A captured kernel is kept until its graph is gone, as Runtime's memory cache does.
    static int num_cold = 0;
    const std::string key = is_cold != 0 ? str::format("cold {}", num_cold++) : "add";
    const auto kernel = get_kernel(key, gpu_test::kAddSource, device);
    cuda::LaunchOptions options{.grid_dim = (n + 255) / 256, .block_dim = 256};
    if (has_stream != 0) options.stream = static_cast<CUstream>(stream);
    kernel->launch(options, out, a, b, n);
  });
}

// The table of launch costs, as text.
DJT_EXPORT const char* djt_launch_cost() {
  static std::string table;
  const char* failure = gpu_test::guarded([] { table = gpu_test::launch_cost_table(); });
  return failure[0] == '\0' ? table.c_str() : failure;
}

DJT_EXPORT const char* djt_first_call(const char* source_file, const char* include_dir) {
  static std::string table;
  const char* failure =
      gpu_test::guarded([&] { table = gpu_test::first_call_table(source_file, include_dir); });
  return failure[0] == '\0' ? table.c_str() : failure;
}
