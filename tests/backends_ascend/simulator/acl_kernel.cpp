// Binaries and launches: the host library that a stand-in tool put into the device ELF is loaded,
// and its entries run over the blocks, with the checks that a device would make by faulting.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tests/backends_ascend/simulator/core.hpp"
#include "tests/backends_ascend/simulator/payload.hpp"

namespace {

using sim::fail;
using sim::Needs;
using sim::state;

struct Binary;

struct Function {
  Binary* binary = nullptr;
  std::string name;
  std::uint32_t core = 0;
  sim::CallEntry call = nullptr;
  sim::GatherEntry gather = nullptr;
  std::size_t num_bytes = 0;
};

struct Binary {
  int device = 0;
  int file = -1;
  void* library = nullptr;
  std::map<std::string, Function> functions;
  std::atomic<int> num_pending{0};
};

std::map<Binary*, std::unique_ptr<Binary>>& binaries() {
  static auto* const all = new std::map<Binary*, std::unique_ptr<Binary>>;
  return *all;
}
std::mutex& binaries_mutex() {
  static auto* const one = new std::mutex;
  return *one;
}

// From an anonymous file: nothing is left behind, whoever ends the process. It stays open as long
// as the library: dlopen knows libraries by path, and the next file would get the same number.
void load_library(Binary& binary, const std::string& bytes) {
  binary.file = memfd_create("kernel", 0);
  const auto size = static_cast<ssize_t>(bytes.size());
  if (binary.file < 0 || write(binary.file, bytes.data(), bytes.size()) != size) return;
  const std::string path = "/proc/self/fd/" + std::to_string(binary.file);
  binary.library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

std::uint32_t magic_of(const std::map<std::string, Function>& functions) {
  bool is_vector = true, is_cube = true;
  for (const auto& one : functions) {
    is_vector = is_vector && one.second.core == 3;
    is_cube = is_cube && one.second.core == 2;
  }
  return is_vector ? ACL_RT_BINARY_MAGIC_ELF_VECTOR_CORE
         : is_cube ? ACL_RT_BINARY_MAGIC_ELF_CUBE_CORE
                   : ACL_RT_BINARY_MAGIC_ELF_AICORE;
}

void add_function(Binary& binary, std::string name, std::uint32_t core) {
  if (core >= 4 && !state().names_are_halves && name.size() > 8) name.resize(name.size() - 8);
  Function& function = binary.functions[name];
  function.binary = &binary;
  function.name = name;
  function.core = core;
  if (binary.library == nullptr) return;
  std::string plain = name;
  if (core >= 4 && state().names_are_halves) plain.resize(plain.size() - 8);
  const auto entry = [&](const std::string& kind) {
    return dlsym(binary.library, ("sim_" + kind + "_" + plain).c_str());
  };
  function.call = reinterpret_cast<sim::CallEntry>(entry("call"));
  function.gather = reinterpret_cast<sim::GatherEntry>(entry("gather"));
  const auto bytes = reinterpret_cast<sim::BytesEntry>(entry("bytes"));
  function.num_bytes = bytes == nullptr ? 0 : bytes();
}

aclError load(const std::string& bytes, const aclrtBinaryLoadOptions* options,
              aclrtBinHandle* handle) {
  const sim::ElfFile file = sim::read_elf(bytes);
  if (file.machine != sim::kMachine || file.type != ET_EXEC)
    return fail(ACL_ERROR_INVALID_FILE, "the binary is no linked device ELF");
  auto binary = std::make_unique<Binary>();
  binary->device = sim::current_device();
  for (const sim::Section& section : file.sections)
    if (section.name == sim::kHostSection) load_library(*binary, section.bytes);
  const std::string meta = sim::kMeta;
  for (const sim::Section& section : file.sections) {
    if (section.type != SHT_NOTE || section.name.compare(0, meta.size(), meta) != 0) continue;
    std::uint32_t core = 0;
    if (section.bytes.size() >= 8) std::memcpy(&core, section.bytes.data() + 4, sizeof core);
    add_function(*binary, section.name.substr(meta.size()), core);
  }
  for (std::size_t i = 0; options != nullptr && i < options->numOpt; ++i) {
    const aclrtBinaryLoadOption& option = options->options[i];
    if (option.type == ACL_RT_BINARY_LOAD_OPT_MAGIC &&
        option.value.magic != magic_of(binary->functions))
      return fail(ACL_ERROR_RT_PARAM_INVALID, "the magic is another core type's");
  }
  const std::lock_guard<std::mutex> guard(binaries_mutex());
  *handle = binary.get();
  binaries()[binary.get()] = std::move(binary);
  return ACL_SUCCESS;
}

Binary* find_binary(aclrtBinHandle handle) {
  const std::lock_guard<std::mutex> guard(binaries_mutex());
  const auto found = binaries().find(static_cast<Binary*>(handle));
  return found == binaries().end() ? nullptr : found->first;
}

struct Config {
  bool is_together = false;
  std::uint64_t timeout_us = 0;
};

aclError read_config(const aclrtLaunchKernelCfg* given, Config& config) {
  for (std::size_t i = 0; given != nullptr && i < given->numAttrs; ++i) {
    const aclrtLaunchKernelAttr& attribute = given->attrs[i];
    switch (attribute.id) {
      case ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE:
        config.is_together = attribute.value.schemMode == 1;
        break;
      case ACL_RT_LAUNCH_KERNEL_ATTR_DYN_UBUF_SIZE:
        break;
      case ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US:
        config.timeout_us = attribute.value.timeoutUs.timeoutLow |
                            (std::uint64_t{attribute.value.timeoutUs.timeoutHigh} << 32);
        break;
      default:
        return fail(ACL_ERROR_RT_PARAM_INVALID, "launch attribute " + std::to_string(attribute.id));
    }
  }
  return ACL_SUCCESS;
}

// A mix kernel runs its cube half, then its vector half, of every block.
bool run_block(const Function& function, std::uint32_t index, std::uint32_t count,
               const void* args) {
  bool is_good = true;
  for (std::uint32_t half = 0; half < (function.core >= 4 ? 2u : 1u); ++half) {
    sim::Block block{index, count, function.core >= 4 ? half + 1 : 0, 0};
    function.call(&block, args);
    is_good = is_good && block.trapped == 0;
  }
  return is_good;
}

aclError run(const Function& function, std::uint32_t count, const Config& config,
             const std::vector<unsigned char>& block) {
  if (const std::uintptr_t word = sim::find_freed(block)) {
    return fail(ACL_ERROR_RT_AICORE_EXCEPTION,
                function.name + " got the freed address " + std::to_string(word));
  }
  const auto start = std::chrono::steady_clock::now();
  std::atomic<bool> is_good{true};
  std::atomic<std::uint32_t> next{0};
  const auto work = [&] {
    for (std::uint32_t i = 0; (i = next.fetch_add(1)) < count;)
      if (!run_block(function, i, count, block.data())) is_good = false;
  };
  // Blocks that wait for each other need a thread each; others show that they do not.
  const std::uint32_t num_threads = config.is_together ? count : std::min(count, 2u);
  std::vector<std::thread> threads;
  for (std::uint32_t i = 1; i < num_threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  const auto time = std::chrono::steady_clock::now() - start;
  if (!is_good) return fail(ACL_ERROR_RT_AICORE_EXCEPTION, function.name + " faulted");
  if (config.timeout_us != 0 && time > std::chrono::microseconds(config.timeout_us))
    return fail(ACL_ERROR_RT_AICORE_TIMEOUT, function.name + " ran too long");
  return ACL_SUCCESS;
}

// `block` is the simulator's own copy from here on: the caller's may go.
aclError launch(Function* function, std::uint32_t count, aclrtStream handle,
                const aclrtLaunchKernelCfg* given, std::vector<unsigned char> block) {
  if (function->call == nullptr)
    return fail(ACL_ERROR_RT_INVALID_DEVICE_FUNCTION, "no code to run");
  if (function->binary->device != sim::current_device())
    return fail(ACL_ERROR_RT_INVALID_DEVICE_FUNCTION, "the kernel was loaded for another device");
  if (count == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "0 blocks");
  Config config;
  if (const aclError code = read_config(given, config)) return code;
  sim::Stream* stream = sim::find_stream(handle);
  if (stream == nullptr) return fail(ACL_ERROR_RT_INVALID_HANDLE, "no such stream");
  ++function->binary->num_pending;
  const aclError code = sim::enqueue(*stream, [=, block = std::move(block)] {
    const aclError result = run(*function, count, config, block);
    --function->binary->num_pending;
    return result;
  });
  if (code != ACL_SUCCESS) --function->binary->num_pending;
  return code;
}

}  // namespace

SIM_API aclError aclrtBinaryLoadFromFile(const char* path, aclrtBinaryLoadOptions* options,
                                         aclrtBinHandle* handle) {
  SIM_ENTER(aclrtBinaryLoadFromFile, Needs::kDevice);
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ACL_ERROR_RT_FILE_OPEN, std::string("cannot open ") + path);
  return load({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()}, options,
              handle);
}

SIM_API aclError aclrtBinaryLoadFromData(const void* data, size_t length,
                                         const aclrtBinaryLoadOptions* options,
                                         aclrtBinHandle* handle) {
  SIM_ENTER(aclrtBinaryLoadFromData, Needs::kDevice);
  return load({static_cast<const char*>(data), length}, options, handle);
}

SIM_API aclError aclrtBinaryUnLoad(aclrtBinHandle handle) {
  SIM_ENTER(aclrtBinaryUnLoad, Needs::kInit);
  Binary* binary = find_binary(handle);
  if (binary == nullptr) return fail(ACL_ERROR_RT_INVALID_HANDLE, "no such binary");
  if (binary->num_pending != 0) {
    sim::violate("a binary was unloaded while its kernels ran");
    return fail(ACL_ERROR_RT_INVALID_HANDLE, "the binary is in use");
  }
  const std::lock_guard<std::mutex> guard(binaries_mutex());
  if (binary->library != nullptr) dlclose(binary->library);
  if (binary->file >= 0) close(binary->file);
  binaries().erase(binary);
  return ACL_SUCCESS;
}

SIM_API aclError aclrtBinaryGetFunction(const aclrtBinHandle handle, const char* name,
                                        aclrtFuncHandle* function) {
  SIM_ENTER(aclrtBinaryGetFunction, Needs::kDevice);
  Binary* binary = find_binary(handle);
  if (binary == nullptr) return fail(ACL_ERROR_RT_INVALID_HANDLE, "no such binary");
  const auto found = binary->functions.find(name);
  if (found == binary->functions.end())
    return fail(ACL_ERROR_KERNEL_NOT_FOUND, std::string("no kernel ") + name);
  *function = &found->second;
  return ACL_SUCCESS;
}

SIM_API aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle handle, uint32_t count,
                                               aclrtStream stream, aclrtLaunchKernelCfg* config,
                                               void* args, size_t size,
                                               aclrtPlaceHolderInfo* places, size_t num_places) {
  SIM_ENTER(aclrtLaunchKernelWithHostArgs, Needs::kDevice);
  auto* function = static_cast<Function*>(handle);
  if (places != nullptr || num_places != 0)
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "placeholders");
  if (reinterpret_cast<std::uintptr_t>(args) % 8 != 0 || size % 8 != 0)
    return fail(ACL_ERROR_RT_ADDR_UNALIGNED, "the argument block is not aligned to 8");
  if (size != function->num_bytes) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, function->name + " takes " +
                                                std::to_string(function->num_bytes) +
                                                " bytes of arguments, not " + std::to_string(size));
  }
  const auto* bytes = static_cast<const unsigned char*>(args);
  return launch(function, count, stream, config, {bytes, bytes + size});
}

SIM_API aclError aclrtLaunchKernelWithArgsArray(void* handle, uint32_t count, aclrtStream stream,
                                                aclrtLaunchKernelCfg* config, void** args) {
  SIM_ENTER(aclrtLaunchKernelWithArgsArray, Needs::kDevice);
  auto* function = static_cast<Function*>(handle);
  std::vector<unsigned char> block(function->num_bytes);
  if (function->gather != nullptr) function->gather(args, block.data());
  return launch(function, count, stream, config, std::move(block));
}
