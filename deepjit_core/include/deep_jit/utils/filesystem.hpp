// Files done carefully: durable writes, whole reads, private folders, removal that never throws.
//
//   if (auto status = filesystem::write_file_durable(path, bytes); !status)
//   warn(status.describe()); std::optional<std::string> bytes = filesystem::read_file(path);
//   filesystem::private_mkdirs(dir);     // 0700 where it creates
//   filesystem::remove_tree(dir);        // follows no link
//
// Nothing here throws on I/O: a Status says which call failed on which path and why. EINTR and
// short writes are retried. Leaves the layout of the cache to cache/disk.hpp.
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <deep_jit/utils/detail/syscalls.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/str.hpp>
#include <deep_jit/utils/uuid.hpp>

namespace DJ_HIDDEN deep_jit {
namespace filesystem {

using Path = std::filesystem::path;

struct Status {
  int error = 0;  // errno, 0: fine
  std::string call;
  Path path;

  explicit operator bool() const { return error == 0; }
  std::string describe() const {
    if (error == 0) return "ok";
    return str::format("{} {}: {} (errno {})", call, path, std::generic_category().message(error),
                       error);
  }
};

inline Status failed(std::string_view call, const Path& path) {
  return {errno == 0 ? EIO : errno, std::string(call), path};
}

namespace detail {

template <class Call>
auto retry(Call&& call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  int get() const { return fd_; }
  // After EINTR the descriptor is gone all the same on Linux: never closed twice.
  int close() {
    const int fd = std::exchange(fd_, -1);
    if (fd < 0) return 0;
    const int result = syscalls().close(fd);
    return result == -1 && errno == EINTR ? 0 : result;
  }

 private:
  int fd_;
};

inline Descriptor open_file(const Path& path, int flags, mode_t mode = 0) {
  return Descriptor(retry([&] { return syscalls().open(path.c_str(), flags | O_CLOEXEC, mode); }));
}

inline Status write_all(int fd, std::string_view data, const Path& path) {
  while (!data.empty()) {
    const ssize_t written = retry([&] { return syscalls().write(fd, data.data(), data.size()); });
    if (written < 0) return failed("write", path);
    if (written == 0) return {ENOSPC, "write", path};
    data.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

// File systems without fsync say EINVAL or ENOTSUP; there is nothing better to do there.
inline Status sync(int fd, const Path& path) {
  if (retry([&] { return syscalls().fsync(fd); }) == 0) return {};
  if (errno == EINVAL || errno == ENOTSUP) return {};
  return failed("fsync", path);
}

}  // namespace detail

inline Status fsync_path(const Path& path, int flags) {
  const auto fd = detail::open_file(path, O_RDONLY | flags);
  if (fd.get() < 0) return failed("open", path);
  return detail::sync(fd.get(), path);
}
inline Status fsync_file(const Path& path) { return fsync_path(path, O_NOFOLLOW); }
inline Status fsync_dir(const Path& path) { return fsync_path(path, O_DIRECTORY); }

// On return the bytes are on the disk, or no file is left. A link at `path` is refused.
inline Status write_file_durable(const Path& path, std::string_view data, mode_t mode = 0600) {
  auto fd = detail::open_file(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode);
  if (fd.get() < 0) return failed("open", path);
  Status status = detail::write_all(fd.get(), data, path);
  if (status) status = detail::sync(fd.get(), path);
  // Network file systems report a full disk here.
  if (fd.close() != 0 && status) status = failed("close", path);
  if (!status) syscalls().unlink(path.c_str());
  return status;
}

// The whole regular file. A link is refused; so is anything that others could be feeding (a pipe).
inline std::optional<std::string> read_file(const Path& path, Status* status = nullptr,
                                            struct stat* facts = nullptr) {
  Status ignored;
  Status& why = status != nullptr ? *status : ignored;
  why = {};
  const auto fd = detail::open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fd.get() < 0) {
    why = failed("open", path);
    return std::nullopt;
  }
  struct stat found = {};
  if (syscalls().fstat(fd.get(), &found) != 0) {
    why = failed("fstat", path);
    return std::nullopt;
  }
  if (facts != nullptr) *facts = found;
  if (!S_ISREG(found.st_mode)) {
    why = {S_ISDIR(found.st_mode) ? EISDIR : EINVAL, "read", path};
    return std::nullopt;
  }
  std::string bytes(static_cast<std::size_t>(found.st_size) + 1, '\0');
  std::size_t length = 0;
  while (true) {
    if (length == bytes.size()) bytes.resize(2 * bytes.size());
    const ssize_t got = detail::retry(
        [&] { return syscalls().read(fd.get(), bytes.data() + length, bytes.size() - length); });
    if (got < 0) {
      why = failed("read", path);
      return std::nullopt;
    }
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
  }
  bytes.resize(length);
  return bytes;
}

// Facts about the path itself (a link is a link).
inline std::optional<struct stat> facts_of(const Path& path, Status* status = nullptr) {
  struct stat facts = {};
  if (syscalls().lstat(path.c_str(), &facts) == 0) return facts;
  if (status != nullptr) *status = failed("lstat", path);
  return std::nullopt;
}

// What a link points at counts: homes are often links.
inline Status require_dir(const Path& path) {
  struct stat facts = {};
  if (syscalls().stat(path.c_str(), &facts) != 0) return failed("stat", path);
  return S_ISDIR(facts.st_mode) ? Status{} : Status{ENOTDIR, "mkdir", path};
}

// Creates what is missing with mode 0700; what exists is left as it is. Safe against concurrent
// creation.
inline Status private_mkdirs(const Path& path) {
  if (path.empty()) return {ENOENT, "mkdir", path};
  if (require_dir(path)) return {};
  if (path.has_parent_path() && path.parent_path() != path) {
    if (Status status = private_mkdirs(path.parent_path()); !status) return status;
  }
  if (path.filename().empty()) return {};  // "a/b/": done with "a/b"
  if (detail::retry([&] { return syscalls().mkdir(path.c_str(), 0700); }) == 0) return {};
  if (errno != EEXIST) return failed("mkdir", path);
  return require_dir(path);
}

// Names in a folder, without . and .., in no order. Unreadable: none.
inline std::vector<std::string> list_dir(const Path& path) {
  std::vector<std::string> names;
  DIR* dir = opendir(path.c_str());
  if (dir == nullptr) return names;
  while (const dirent* item = readdir(dir)) {
    const std::string_view name = item->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  closedir(dir);
  return names;
}

inline bool remove_tree(const Path& path) noexcept {
  try {
    if (syscalls().unlink(path.c_str()) == 0 || errno == ENOENT) return true;
    const auto facts = facts_of(path);
    if (!facts || !S_ISDIR(facts->st_mode)) return !facts;
    for (const std::string& name : list_dir(path)) remove_tree(path / name);
    return syscalls().rmdir(path.c_str()) == 0;
  } catch (...) {
    return false;
  }
}

}  // namespace filesystem
}  // namespace DJ_HIDDEN deep_jit
