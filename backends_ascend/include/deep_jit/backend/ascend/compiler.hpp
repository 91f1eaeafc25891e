// What the two compilers have in common: the request, the artifacts, the words of a failure.
//
//   std::shared_ptr<ascend::Compiler> compiler = ...;          // BishengCompiler or AclrtcCompiler
//   ascend::CompileOutput out = compiler->compile(request);    // throws Toolchain, whole log
//   inside
//
// Artifacts: kernel.asc, kernel.o, kernel.json, compile.log, and kernel.s where asked for.
// Leaves choosing a compiler to compiler_choice.hpp.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <deep_jit/backend/ascend/elf_kernel_names.hpp>
#include <deep_jit/backend/ascend/options.hpp>
#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/hash.hpp>
#include <deep_jit/utils/json.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/str.hpp>

namespace DJ_HIDDEN deep_jit {
namespace ascend {

inline constexpr const char* kSourceFile = "kernel.asc";
inline constexpr const char* kBinaryFile = "kernel.o";
inline constexpr const char* kMetadataFile = "kernel.json";
inline constexpr const char* kLogFile = "compile.log";
inline constexpr const char* kAsmFile = "kernel.s";

struct CompileRequest {
  std::string source;
  std::filesystem::path dir;  // exists; artifacts go here
  std::string arch;           // "dav-2201"
  CompileSettings settings;
  std::vector<std::filesystem::path> include_dirs;
  bool print_command = false;
};

struct CompileOutput {
  std::string binary;   // a device ELF, checked
  std::string command;  // printable
  std::string log;      // all of it
};

class Compiler {
 public:
  virtual ~Compiler() = default;
  virtual std::string name() const = 0;  // "bisheng", "aclrtc"
  virtual std::filesystem::path path() const = 0;
  virtual std::string version() const = 0;   // of CANN
  virtual std::string identity() const = 0;  // content, not place
  // Everything that shapes the machine code, and no path.
  virtual std::vector<std::string> flags(const CompileSettings& settings,
                                         std::string_view arch) const = 0;
  virtual CompileOutput compile(const CompileRequest& request) = 0;
};

namespace detail {

// Splits at white space outside quotes, as a shell would, without being one: no expansion.
inline std::vector<std::string> split_flags(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool is_open = false;
  char quote = 0;
  for (const char c : text) {
    const bool is_blank = c == ' ' || c == '\t' || c == '\n';
    if (quote != 0 ? c == quote : (c == '\'' || c == '"')) {
      quote = quote != 0 ? char{0} : c;
      is_open = true;
    } else if (quote == 0 && is_blank) {
      if (is_open) words.push_back(std::move(word));
      word.clear();
      is_open = false;
    } else {
      word += c;
      is_open = true;
    }
  }
  if (quote != 0) {
    DJ_FAIL(kInvalidArgument,
            "ascend: compile: bisheng_flags: given {}.\n"
            "  Rule FLAG_QUOTES: every quote is closed.\n"
            "  Fix: close the {} quote.",
            text, quote == '"' ? "double" : "single");
  }
  if (is_open) words.push_back(std::move(word));
  return words;
}

inline void write_artifact(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (file) return;
  DJ_FAIL(kCache,
          "ascend: compile: artifact: given {}.\n"
          "  Rule ARTIFACT_WRITE: the staging folder takes {} bytes.\n"
          "  Fix: free space, or point JIT_CACHE_DIR at another file system.",
          path.string(), text.size());
}

inline std::string read_artifact(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// Size and both ends: a build id is in the first page, the section table in the last. Remembered
// while path, size and time stay the same. Why not all of it: bisheng has hundreds of megabytes.
inline std::string file_identity(const std::filesystem::path& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return "unreadable";
  using Key = std::tuple<std::string, off_t, time_t, long>;
  static auto* mutex = new std::mutex;
  static auto* known = new std::map<Key, std::string>;
  const Key key{path.string(), status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  const std::lock_guard<std::mutex> guard(*mutex);
  if (const auto found = known->find(key); found != known->end()) return found->second;
  constexpr std::size_t kEnd = 65536;
  std::ifstream file(path, std::ios::binary);
  std::string ends(std::min<std::size_t>(static_cast<std::size_t>(status.st_size), kEnd), '\0');
  std::string tail = ends;
  file.read(ends.data(), static_cast<std::streamsize>(ends.size()));
  file.seekg(-static_cast<std::streamoff>(tail.size()), std::ios::end);
  file.read(tail.data(), static_cast<std::streamsize>(tail.size()));
  const std::string digest = str::format("{}/{}", status.st_size, sha256_hex(ends + tail));
  return known->emplace(key, digest).first->second;
}

}  // namespace detail

// The caller's folders first, then those of the toolkit's own headers.
inline std::vector<std::string> include_flags(const std::vector<std::filesystem::path>& callers,
                                              const std::vector<std::filesystem::path>& toolkits) {
  std::vector<std::string> flags;
  for (const auto& dir : callers) flags.push_back("-I" + dir.string());
  for (const auto& dir : toolkits) flags.push_back("-I" + dir.string());
  return flags;
}

// The failure of either compiler: what ran, how it ended, everything it printed.
[[noreturn]] inline void fail_compile(std::string_view tool, std::string_view command,
                                      std::string_view ending, std::string_view log,
                                      std::string_view fix) {
  DJ_FAIL(kToolchain,
          "ascend: compile: {}: given\n    {}\n  which ended with {}.\n"
          "  Rule COMPILE_SUCCEEDS: a kernel is loaded only after its compiler succeeded.\n"
          "  Fix: {}\n---- whole log, {} bytes ----\n{}",
          tool, command, ending, fix, log.size(), log);
}

// A compiler that was killed half way can leave any bytes: what is no device ELF with a kernel in
// it never gets further.
inline void check_output(std::string_view tool, const CompileOutput& output) {
  std::string why;
  try {
    if (!read_device_binary(output.binary).kernels.empty()) return;
    why = "a binary without a kernel";
  } catch (const exception::Exception& error) {
    why = error.message();
  }
  fail_compile(tool, output.command, str::format("success and {}", why), output.log,
               "define an extern \"C\" __global__ function; else check that the tool is CANN's.");
}

// What is known of a binary, for people and for tools; the fields are named as CANN names them.
inline std::string metadata_json(const CompileOutput& output, std::string_view arch,
                                 std::string_view toolchain) {
  const DeviceBinary binary = read_device_binary(output.binary);
  json kernels = json::array();
  for (const DeviceKernel& kernel : binary.kernels) {
    json row = json::object();
    row["kernelName"] = kernel.name;
    row["coreType"] = std::string(core_name(kernel.core));
    kernels.push_back(std::move(row));
  }
  json object = json::object();
  object["arch"] = std::string(arch);
  object["toolchain"] = std::string(toolchain);
  object["sha256"] = sha256_hex(output.binary);
  object["kernelList"] = std::move(kernels);
  return object.dump();
}

}  // namespace ascend
}  // namespace DJ_HIDDEN deep_jit
