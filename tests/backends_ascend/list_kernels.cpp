// What the product reads in device binaries, a line a file: magic and names, tab between.
//
//   list_kernels a.o b.o             # reads alone
//   list_kernels --load a.o b.o      # through the runtime too, from the file and from memory
#include <cstdio>
#include <string_view>

#include <deep_jit/backend/ascend/kernel.hpp>

int main(int argc, char** argv) {
  using namespace deep_jit;
  const bool is_loading = argc > 1 && std::string_view(argv[1]) == "--load";
  int num_bad = 0;
  for (int i = is_loading ? 2 : 1; i < argc; ++i) {
    try {
      const std::string bytes = ascend::detail::read_artifact(argv[i]);
      const ascend::DeviceBinary binary = ascend::read_device_binary(bytes);
      std::printf("%#x\t%s\n", binary.magic(), binary.names().c_str());
      if (!is_loading) continue;
      const auto file = ascend::KernelBinary::from_file(argv[i], 0);
      const auto memory = ascend::KernelBinary::from_memory(bytes, 0);
      if (file->names() != binary.names() || memory->names() != binary.names()) ++num_bad;
    } catch (const exception::Exception& error) {
      std::fprintf(stderr, "%s: %s\n", argv[i], error.what());
      std::printf("refused\t\n");
      ++num_bad;
    }
  }
  return num_bad == 0 ? 0 : 1;
}
