// Two back ends in one program: runs a host kernel, and compiles a CUDA kernel for a named target.
#include <cstdio>
#include <cstdlib>

#include <deep_jit/backend/cuda/backend.hpp>
#include <deep_jit/backend/host/backend.hpp>

using namespace deep_jit;

constexpr const char* kHostSource = R"(
#include <stdint.h>
struct DjHostBlock { uint32_t index[3], grid[3], thread, num_threads; };

extern "C" void number_blocks(const DjHostBlock* block, void* const* args) {
  (*(uint32_t**)args[0])[block->index[0]] = block->index[0] + 1;
})";
constexpr const char* kCudaSource = R"(
extern "C" __global__ void fill(float* out, float value) { out[threadIdx.x] = value; })";

int main(int, char** arguments) {
  const Config config(arguments[1], "CONSUMER");
  Runtime<Host> host(config);
  uint32_t numbers[8] = {};
  uint32_t* data = numbers;
  host.launch(host.compile("number_blocks", kHostSource), {.grid_dim = 8}, data);
  for (uint32_t i = 0; i < 8; ++i)
    if (numbers[i] != i + 1) return std::printf("block %u wrote %u\n", i, numbers[i]), 1;
  std::printf("host: 8 blocks ran\n");
  try {
    Runtime<CUDA> device(config);
    const auto entry = device.compile_without_load("fill", kCudaSource, {.arch = "90a"});
    std::printf("cuda: %s\n", (entry / "kernel.cubin").c_str());
  } catch (const exception::Exception& error) {
    if (error.kind() != exception::Kind::kToolchain) throw;
    std::printf("cuda: no compiler here\n");
  }
  return 0;
}
