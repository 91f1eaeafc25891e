// A program of somebody else's on the CUDA back end: compiles for a named target, with no GPU.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <deep_jit/backend/cuda/backend.hpp>
#include <deep_jit/runtime/runtime.hpp>

using namespace deep_jit;

int main() {
  const char* scratch = std::getenv("TEST_TMPDIR");
  setenv("CONSUMER_JIT_CACHE_DIR", scratch, 1);
  auto jit = create_lazy_jit<CUDA>(Config(scratch, "CONSUMER"));
  try {
    const auto entry = jit->compile_without_load(
        "fill", "extern \"C\" __global__ void fill(int* out) { out[threadIdx.x] = 7; }",
        {.arch = "90a"});
    std::ifstream file(entry / "kernel.cubin", std::ios::binary);
    if (file.get() != 0x7f || file.get() != 'E') return std::printf("no cubin\n"), 1;
    std::printf("compiled with %s\n", jit->backend.compiler_info({}).version.c_str());
  } catch (const exception::Exception& error) {
    // The program is built and runs anywhere; a compiler is the machine's own affair.
    if (error.kind() != exception::Kind::kToolchain || std::getenv("CONSUMER_JIT_NVRTC_LIBRARY"))
      return std::printf("%s\n", error.what()), 1;
    std::printf("no CUDA compiler here\n");
  }
  return 0;
}
