// A program of somebody else's: compiles a kernel through the host back end and runs it.
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <deep_jit/backend/host/backend.hpp>

constexpr const char* kSource = R"(
#include <stdint.h>
struct DjHostBlock { uint32_t index[3], grid[3], thread, num_threads; };

extern "C" void number_blocks(const DjHostBlock* block, void* const* args) {
  (*(uint32_t**)args[0])[block->index[0]] = block->index[0] + 1;
}
)";

int main() {
  const char* scratch = std::getenv("TEST_TMPDIR");
  setenv("CONSUMER_JIT_CACHE_DIR", scratch, 1);
  deep_jit::Runtime<deep_jit::Host> jit(deep_jit::Config(scratch, "CONSUMER"));
  uint32_t numbers[8] = {};
  uint32_t* data = numbers;
  jit.launch(jit.compile("number_blocks", kSource), {.grid_dim = 8}, data);
  for (uint32_t i = 0; i < 8; ++i)
    if (numbers[i] != i + 1) return 1;
  std::printf("8 blocks ran\n");
  return 0;
}
