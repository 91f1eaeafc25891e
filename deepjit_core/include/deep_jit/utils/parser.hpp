// The content of a kernel source with everything it includes, as one digest.
//
//   IncludeParser parser({root / "include"});
//   parser.content_digest(source);   // changes when any reachable header does; never with a path
//
// Follows <x> through the given folders and "x" relative to the including file first. What is not
// found there (the system's headers) counts by name. Files are read again only when their size,
// time or inode change. Leaves compiling, and the compiler's own headers, to the back ends.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <deep_jit/utils/detail/include_scan.hpp>
#include <deep_jit/utils/filesystem.hpp>
#include <deep_jit/utils/hash.hpp>
#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {

class IncludeParser {
 public:
  explicit IncludeParser(std::vector<std::filesystem::path> include_dirs)
      : include_dirs_(std::move(include_dirs)) {}

  std::string content_digest(std::string_view source) {
    Walk walk;
    walk.hash.update_field(source);
    follow(detail::scan_includes(source), {}, walk);
    return walk.hash.hex_digest();
  }

  const std::vector<std::filesystem::path>& include_dirs() const { return include_dirs_; }

 private:
  using Path = std::filesystem::path;

  struct Stamp {
    std::uint64_t size = 0, device = 0, inode = 0;
    std::int64_t seconds = 0, nanoseconds = 0, changed = 0, changed_nanoseconds = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  struct File {
    Stamp stamp;
    std::string digest;
    std::vector<detail::Include> includes;
  };
  struct Walk {
    Sha256 hash;
    std::set<std::string> visited;
  };

  // Depth first in the order of the text: the digest depends on contents and spelled names alone.
  void follow(const std::vector<detail::Include>& includes, const Path& dir, Walk& walk) {
    for (const auto& include : includes) {
      walk.hash.update_field(include.name);
      const auto [path, file] = find(include, dir);
      walk.hash.update_field(file == nullptr ? std::string_view("elsewhere") : file->digest);
      if (file == nullptr || !walk.visited.insert(path.string()).second) continue;
      follow(file->includes, path.parent_path(), walk);
      walk.hash.update_field("end");
    }
  }

  std::pair<Path, std::shared_ptr<const File>> find(const detail::Include& include,
                                                    const Path& dir) {
    if (include.is_quoted && !dir.empty()) {
      Path path = (dir / include.name).lexically_normal();
      if (auto file = read(path)) return {std::move(path), std::move(file)};
    }
    for (const Path& root : include_dirs_) {
      Path path = (root / include.name).lexically_normal();
      if (auto file = read(path)) return {std::move(path), std::move(file)};
    }
    return {};
  }

  std::shared_ptr<const File> read(const Path& path) {
    struct stat facts = {};
    if (filesystem::syscalls().stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode))
      return nullptr;
    const Stamp stamp = stamp_of(facts);
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      const auto known = files_.find(path.string());
      if (known != files_.end() && known->second->stamp == stamp) return known->second;
    }
    auto text = filesystem::read_file(path);
    if (!text) {  // which does not follow a link; resolving each path would be most of a lookup
      std::error_code error;
      const Path real = std::filesystem::canonical(path, error);
      if (!error) text = filesystem::read_file(real);
    }
    if (!text) return nullptr;
    auto file = std::make_shared<File>();
    file->stamp = stamp;
    file->digest = sha256_hex(*text);
    file->includes = detail::scan_includes(*text);
    const std::lock_guard<std::mutex> guard(mutex_);
    files_[path.string()] = file;
    return file;
  }

  // The change time is there for editors and tests that set the modification time back.
  static Stamp stamp_of(const struct stat& facts) {
    return {static_cast<std::uint64_t>(facts.st_size),
            static_cast<std::uint64_t>(facts.st_dev),
            static_cast<std::uint64_t>(facts.st_ino),
            facts.st_mtim.tv_sec,
            facts.st_mtim.tv_nsec,
            facts.st_ctim.tv_sec,
            facts.st_ctim.tv_nsec};
  }

  std::vector<Path> include_dirs_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const File>> files_;
};

}  // namespace DJ_HIDDEN deep_jit
