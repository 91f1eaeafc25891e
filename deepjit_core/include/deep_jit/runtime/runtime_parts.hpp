// The small parts of Runtime that know neither its back end nor each other.
//
//   detail::require_compile_allowed(env, config, name, digest);   // JIT_MODE
//   detail::EphemeralEntries kept;                                // folders that no disk took
//   detail::DeviceTable<Device> devices;                          // properties once per index
//
// Leaves the order of steps to runtime.hpp.
#pragma once

#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <deep_jit/cache/disk.hpp>
#include <deep_jit/runtime/backend_like.hpp>
#include <deep_jit/runtime/config.hpp>
#include <deep_jit/utils/env.hpp>
#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/str.hpp>

namespace DJ_HIDDEN deep_jit {
namespace detail {

struct Request {
  std::string name;
  std::string digest;
  std::string target;
};

// An entry that was there, or is there now.
struct EnsuredEntry {
  std::filesystem::path dir;
  std::string request;      // digest
  bool was_cached = false;  // nothing had to be compiled
};

struct CompilerVerdict {
  std::optional<CompilerInfo> info;
  std::string build;           // digest
  std::exception_ptr why_not;  // set when there is no compiler
};

class Stopwatch {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Devices by index, each made at its first use and kept.
template <class Device>
class DeviceTable {
 public:
  std::shared_ptr<Device> get(int index) {
    const std::lock_guard<std::mutex> guard(mutex_);
    auto& slot = devices_[index];
    if (slot == nullptr) slot = std::make_shared<Device>(index);
    return slot;
  }
  // That of the calling thread.
  std::shared_ptr<Device> operator->() { return get(Device::current_index()); }

 private:
  std::mutex mutex_;
  std::map<int, std::shared_ptr<Device>> devices_;
};

// Folders of entries that no disk took: they live as long as the runtime that answered with them.
class EphemeralEntries {
 public:
  void keep(const DiskCache::Entry& entry) {
    if (!entry.ephemeral) return;
    const std::lock_guard<std::mutex> guard(mutex_);
    entries_.push_back(entry);
  }

 private:
  std::mutex mutex_;
  std::vector<DiskCache::Entry> entries_;
};

// What a loader says about a binary, as opposed to mistakes of the caller and of ours.
inline bool is_refusal(const exception::Exception& error) {
  using exception::Kind;
  return error.kind() == Kind::kToolchain || error.kind() == Kind::kDevice ||
         error.kind() == Kind::kCache;
}

// Whether a build may have failed only because its folder's file system is full. Compilers say so
// in many ways, so the file system is asked.
inline bool lacks_space(const std::filesystem::path& dir, const exception::Exception& error) {
  if (error.kind() == exception::Kind::kCache) return true;
  struct statvfs status{};
  constexpr std::uint64_t kEnoughBytes = 16 << 20;
  if (statvfs(dir.c_str(), &status) != 0) return true;
  return std::uint64_t{status.f_bavail} * status.f_frsize < kEnoughBytes ||
         (status.f_files != 0 && status.f_favail == 0);
}

// A name becomes part of a folder's name, and is what the loader looks for.
inline void require_kernel_name(std::string_view name) {
  bool is_valid = !name.empty() && name.size() <= 128 && name.front() != '.' && name.front() != '-';
  for (const char c : name) {
    is_valid = is_valid && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                            (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.');
  }
  if (is_valid) return;
  DJ_FAIL(kInvalidArgument,
          "deep_jit: compile: name: given \"{}\".\n"
          "  Rule KERNEL_NAME: 1 to 128 of A-Z a-z 0-9 _ - . and neither - nor . in front.\n"
          "  Fix: name the kernel as its extern \"C\" function.",
          name);
}

[[noreturn]] inline void fail_null_kernel() {
  DJ_FAIL(kInvalidArgument,
          "deep_jit: launch: kernel: given nullptr.\n"
          "  Rule KERNEL_LOADED: a kernel comes from compile().\n"
          "  Fix: hold what compile() returned.");
}

// How long another process may hold a key before this one compiles for itself. A holder that died
// holds nothing: the bound is for one that hangs.
inline std::chrono::milliseconds lock_wait(const Env& env) {
  return std::chrono::milliseconds(std::max(0, env.get_or<int>("JIT_LOCK_WAIT_MS", 120000)));
}

// JIT_MODE, read at every miss: allow, warn (says so on stderr) or forbid (raises Cache).
inline void require_compile_allowed(const Env& env, const Config& config, std::string_view name,
                                    std::string_view digest) {
  const std::string mode = env.get_or<std::string>("JIT_MODE", "allow");
  if (mode == "allow") return;
  if (mode == "warn") {
    std::fputs(str::format("{}: warning: compiling {} (request {}), JIT_MODE is warn\n",
                           config.env_prefix, name, digest)
                   .c_str(),
               stderr);
    return;
  }
  if (mode != "forbid") {
    DJ_FAIL(kInvalidArgument,
            "deep_jit: compile: {}_JIT_MODE: given \"{}\".\n"
            "  Rule JIT_MODE: one of allow, warn, forbid.\n"
            "  Fix: set or unset the variable.",
            config.env_prefix, mode);
  }
  DJ_FAIL(kCache,
          "deep_jit: compile: {}: given request {}, which no cache layer holds.\n"
          "  Rule JIT_MODE: forbid compiles nothing.\n"
          "  Fix: {}_JIT_MODE=allow python -m {} precompile, on a machine with a compiler, into a "
          "folder of {}_JIT_CACHE_DIR.",
          name, digest, config.env_prefix, config.python_library_root.filename().string(),
          config.env_prefix);
}

// Entries written by whoever installed this library are as good as the library itself.
inline std::vector<uid_t> owners_of_this_binary() {
  Dl_info info{};
  struct stat status{};
  if (dladdr(reinterpret_cast<const void*>(&owners_of_this_binary), &info) != 0 &&
      info.dli_fname != nullptr && stat(info.dli_fname, &status) == 0) {
    return {status.st_uid};
  }
  return {};
}

// JIT_CACHE_DIR is a list: the first writable folder is written, all are read. Default $HOME/.dj.
inline std::vector<std::filesystem::path> cache_dirs(const Env& env) {
  std::vector<std::filesystem::path> dirs;
  std::string list = env.get_or<std::string>("JIT_CACHE_DIR", "");
  if (list.empty()) {
    const char* home = std::getenv("HOME");
    if (home != nullptr && *home != '\0') dirs.push_back(std::filesystem::path(home) / ".dj");
    return dirs;
  }
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(':', at), list.size());
    std::error_code ignored;
    if (end > at) dirs.push_back(std::filesystem::absolute(list.substr(at, end - at), ignored));
    at = end + 1;
  }
  return dirs;
}

inline std::function<void(std::string_view)> warn_on_stderr(const Config& config) {
  return [prefix = config.env_prefix](std::string_view text) {
    // The cache knows no prefix; who reads the text needs the variable's whole name.
    std::string line = str::format("{}: warning: {}\n", prefix, text);
    constexpr std::string_view kBlank = "<PREFIX>";
    for (std::size_t at; (at = line.find(kBlank)) != std::string::npos;)
      line.replace(at, kBlank.size(), prefix);
    std::fputs(line.c_str(), stderr);
  };
}

inline std::shared_ptr<DiskCache> open_disk_cache(const Env& env, const Config& config) {
  DiskCache::Options options;
  options.dirs = cache_dirs(env);
  const int max_mb = env.get_or<int>("JIT_CACHE_MAX_MB", 16384);
  options.max_bytes = static_cast<std::uint64_t>(std::max(0, max_mb)) << 20;
  options.warn = warn_on_stderr(config);
  options.trusted_owners = owners_of_this_binary();
  if (env.get_or<bool>("JIT_SHIPPED_KERNELS", true)) options.shipped = config.shipped_kernels;
  return std::make_shared<DiskCache>(std::move(options));
}

// A cache of no folders, for builds that the disk has no space for.
inline std::shared_ptr<DiskCache> open_scratch(const Config& config) {
  warn_on_stderr(config)(
      "kernel cache: the cache folder's file system is full: kernels are kept in memory only");
  return std::make_shared<DiskCache>(DiskCache::Options{});
}

}  // namespace detail
}  // namespace DJ_HIDDEN deep_jit
