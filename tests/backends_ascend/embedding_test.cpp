// One translation unit with the runtimes of all three back ends, as an extension that serves every
// device has it; what torch's CUDA headers are told stays with CUDA.
#include <deep_jit/backend/cuda/backend.hpp>
#include <deep_jit/backend/host/backend.hpp>

#include "tests/backends_ascend/ascend_fixture.hpp"
#include "tests/support/check.hpp"

// USE_CUDA is a macro of torch's headers: if anything of Ascend or of what it includes depended on
// it, it would have been defined by now or would be missed.
#ifdef USE_CUDA
#error "USE_CUDA has reached a unit that includes the Ascend back end"
#endif

namespace {

using deep_jit::Ascend;
using deep_jit::CUDA;
using deep_jit::Host;
using deep_jit::Runtime;

constexpr const char* kHostSource =
    "#include <stdint.h>\n"
    "struct DjHostBlock { uint32_t index[3]; uint32_t grid[3]; uint32_t thread; uint32_t "
    "num_threads; };\n"
    "extern \"C\" void put(const DjHostBlock* b, void* const* args) {\n"
    "  (*(int**)args[0])[b->index[0]] = 7;\n"
    "}\n";

}  // namespace

TEST(Embedding, ThreeRuntimesLiveInOneUnitAndShareOneCache) {
  const AscendDir dir;
  const DeviceStream stream;
  Runtime<Host> host(dir.config());
  Runtime<CUDA> cuda(dir.config());
  Runtime<Ascend> ascend(dir.config());

  int numbers[4] = {};
  int* pointer = numbers;
  host.launch(host.compile("put", kHostSource), {.grid_dim = 4}, pointer);
  CHECK_EQ(numbers[3], 7);
  CHECK(adds_right(ascend, ascend.compile("add", kAddSource), stream, 4));
  CHECK(cuda.backend.report().find("NVRTC") != std::string::npos);
}

TEST(Embedding, KeysOfTheSameTextDifferBetweenBackEnds) {
  const AscendDir dir;
  Runtime<Host> host(dir.config());
  Runtime<CUDA> cuda(dir.config());
  Runtime<Ascend> ascend(dir.config());
  const std::string text = "one text";
  const std::string a = host.cache_key(text, {.arch = "x86-64"});
  const std::string b = cuda.cache_key(text, {.arch = "90a"});
  const std::string c = ascend.cache_key(text, {.arch = "2201"});
  CHECK(a != b && b != c && a != c);
}

CHECK_MAIN()
