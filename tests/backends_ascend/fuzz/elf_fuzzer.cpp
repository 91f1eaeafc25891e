// The ELF reader under libFuzzer: whatever the bytes, a list of kernels or a typed refusal.
//
//   clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -I... elf_fuzzer.cpp -o fuzzer
//   ./fuzzer -max_len=65536 -timeout=5 corpus/
//
// docs/ascend.md has the whole command and the figures of the last run.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include <deep_jit/backend/ascend/elf_kernel_names.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of exactly this size, so that the sanitizer sees the first byte read beyond it.
  const std::unique_ptr<char[]> bytes(new char[size]);
  if (size != 0) std::memcpy(bytes.get(), data, size);
  try {
    const auto binary = deep_jit::ascend::read_device_binary({bytes.get(), size});
    for (const auto& kernel : binary.kernels)
      if (kernel.name.empty() || kernel.name.size() > size) std::abort();
    if (binary.kernels.size() > size / 64 || binary.names().size() > 2 * size) std::abort();
    static_cast<void>(binary.magic());
  } catch (const deep_jit::exception::Exception& error) {
    if (error.kind() != deep_jit::exception::Kind::kToolchain) std::abort();
  }
  return 0;
}
