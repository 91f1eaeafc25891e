// A private cache and library folder, and compilers that count or fail.
//
//   HostDir dir;                                  // HOSTT_JIT_CACHE_DIR points into it
//   dir.use_compiler("echo run >> \"$LOG\"; exec g++ \"$@\"");
//   deep_jit::Runtime<deep_jit::Host> jit(dir.config());
//   dir.num_runs();                               // lines in the log
//
// Leaves assertions to the tests.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <deep_jit/backend/host/backend.hpp>

namespace fs = std::filesystem;
using Jit = deep_jit::Runtime<deep_jit::Host>;

inline constexpr const char* kBlockText =
    "#include <stdint.h>\n"
    "struct DjHostBlock { uint32_t index[3]; uint32_t grid[3]; uint32_t thread; "
    "uint32_t num_threads; };\n";

// args: int* out, int add. Each block writes its own element.
inline std::string add_source(std::string_view name, std::string_view extra = "") {
  return std::string(kBlockText) + "extern \"C\" void " + std::string(name) +
         "(const DjHostBlock* block, void* const* args) {\n"
         "  int* out = *(int**)args[0];\n"
         "  out[block->index[0]] = (int)block->index[0] + *(int*)args[1];\n" +
         std::string(extra) + "}\n";
}

class HostDir {
 public:
  explicit HostDir(std::string_view suffix = "") {
    std::string pattern = (fs::temp_directory_path() / "dj_host_XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    path_ = root_ / ("d" + std::string(suffix));
    fs::create_directories(path_ / "lib" / "include");
    setenv("HOSTT_JIT_CACHE_DIR", (path_ / "cache").c_str(), 1);
    unsetenv("HOSTT_JIT_HOST_COMPILER");
    unsetenv("HOSTT_JIT_MODE");
    unsetenv("CXX");
  }
  ~HostDir() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
    unsetenv("HOSTT_JIT_HOST_COMPILER");
  }
  const fs::path& path() const { return path_; }
  deep_jit::Config config() const {
    return deep_jit::Config(path_ / "lib", "HOSTT", "", {path_ / "lib" / "include"});
  }
  void write(const fs::path& relative, std::string_view text) const {
    fs::create_directories((path_ / relative).parent_path());
    std::ofstream(path_ / relative) << text;
  }
  // A shell script in the place of the compiler; LOG is a file that it may append to.
  void use_compiler(std::string_view body) const {
    write("bin/cc",
          "#!/bin/sh\nLOG='" + (path_ / "runs.log").string() + "'\n" + std::string(body) + "\n");
    fs::permissions(path_ / "bin/cc", fs::perms::owner_all);
    setenv("HOSTT_JIT_HOST_COMPILER", (path_ / "bin/cc").c_str(), 1);
  }
  void count_compiles() const { use_compiler("echo run >> \"$LOG\"\nexec g++ \"$@\""); }
  int num_runs() const {
    std::ifstream file(path_ / "runs.log");
    int count = 0;
    for (std::string line; std::getline(file, line);) ++count;
    return count;
  }
  // Folders of published entries.
  int num_entries() const {
    int count = 0;
    std::error_code error;
    for (fs::directory_iterator at(path_ / "cache" / "cache", error), end; !error && at != end;
         ++at)
      ++count;
    return count;
  }

 private:
  fs::path root_, path_;
};

// Runs the kernel of add_source and says whether every element is right.
inline bool runs_right(Jit& jit, const std::shared_ptr<deep_jit::host::Kernel>& kernel, int add) {
  int out[16] = {};
  int* pointer = out;
  jit.launch(kernel, {.grid_dim = 16}, pointer, add);
  for (int i = 0; i < 16; ++i)
    if (out[i] != i + add) return false;
  return true;
}
