// The smallest CUDA program on the core: source text to checked numbers. Built and run as a test;
// without a GPU it compiles for a named target and stops there.
#include <deep_jit/backend/cuda/backend.hpp>
#include <deep_jit/runtime/runtime.hpp>

#include <cstdio>
#include <vector>

using namespace deep_jit;
namespace driver = cuda::driver;

constexpr const char* kSource = R"(
extern "C" __global__ void vector_add(float* out, const float* a, const float* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
})";

int main() {
  auto jit = create_lazy_jit<CUDA>(Config("/opt/my_library", "MYLIB"));
  if (!driver::is_available()) {
    try {
      const auto dir = jit->compile_without_load("vector_add", kSource, {.arch = "90a"});
      std::printf("no driver here; compiled for 90a into %s\n", dir.c_str());
    } catch (const exception::Exception& error) {
      if (error.kind() != exception::Kind::kToolchain) throw;
      std::printf("skipped: neither a driver nor a CUDA compiler here\n%s\n", error.what());
    }
    return 0;
  }

  const auto kernel = jit->compile("vector_add", kSource);
  constexpr int kCount = 1000;
  const std::vector<float> a(kCount, 1.5f), b(kCount, 2.25f);
  std::vector<float> out(kCount);
  CUdeviceptr memory = 0;
  DJ_CUDA_DRIVER_CHECK(driver::lazy_cuMemAlloc(&memory, 3 * kCount * sizeof(float)));
  auto* device = reinterpret_cast<float*>(memory);
  const std::size_t bytes = kCount * sizeof(float);
  DJ_CUDA_DRIVER_CHECK(driver::lazy_cuMemcpyHtoD(memory + bytes, a.data(), bytes));
  DJ_CUDA_DRIVER_CHECK(driver::lazy_cuMemcpyHtoD(memory + 2 * bytes, b.data(), bytes));
  jit->launch(kernel, {.stream = nullptr, .grid_dim = 4, .block_dim = 256}, device, device + kCount,
              device + 2 * kCount, kCount);
  DJ_CUDA_DRIVER_CHECK(driver::lazy_cuMemcpyDtoH(out.data(), memory, bytes));
  DJ_CUDA_DRIVER_CHECK(driver::lazy_cuMemFree(memory));
  for (const float value : out)
    if (value != 3.75f) return std::printf("got %f\n", static_cast<double>(value)), 1;
  std::printf("%d sums are right\n", kCount);
  return 0;
}
