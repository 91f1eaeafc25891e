// The smallest program: source text to numbers on the machine that runs it.
// [begin hello_host]
#include <cstdio>
#include <filesystem>

#include <deep_jit/backend/host/backend.hpp>

constexpr const char* kSource = R"(
#include <stdint.h>
struct DjHostBlock { uint32_t index[3], grid[3], thread, num_threads; };

extern "C" void scale(const DjHostBlock* block, void* const* args) {
  float* data = *(float**)args[0];
  const float factor = *(const float*)args[1];
  for (uint32_t i = 0; i < 256; ++i) data[block->index[0] * 256 + i] *= factor;
}
)";

int main() {
  deep_jit::Runtime<deep_jit::Host> jit(deep_jit::Config(std::filesystem::current_path(), "HELLO"));
  auto kernel = jit.compile("scale", kSource);  // compiled once; later runs load it from disk

  float values[1024];
  for (int i = 0; i < 1024; ++i) values[i] = static_cast<float>(i);
  float* data = values;
  jit.launch(kernel, {.grid_dim = 4}, data, 2.0f);

  for (int i = 0; i < 1024; ++i)
    if (values[i] != 2.0f * static_cast<float>(i)) return 1;
  std::printf("1024 values doubled by %s\n", kernel->get_name().c_str());
  return 0;
}
// [end hello_host]
