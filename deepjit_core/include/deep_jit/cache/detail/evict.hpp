// Keeps a layer within its size: the entry whose use lies longest back goes first.
//
//   touch_entry(dir);                                   // at each hit, at most once a minute
//   Evicted done = evict(layer, max_bytes, keep);       // what went, and what remains
//
// Also drops what crashed builds and set-aside entries left long ago. Leaves when to call it to
// cache/disk.hpp.
#pragma once

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <deep_jit/cache/detail/layer.hpp>
#include <deep_jit/utils/filesystem.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/uuid.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cache_detail {

struct EntrySize {
  Path dir;
  std::uint64_t num_bytes = 0;
  std::int64_t used_s = 0, used_ns = 0;  // modification time of the manifest
};

// The manifest's time is the time of last use; nothing else reads it.
inline void touch_entry(const Path& dir) noexcept {
  try {
    constexpr std::int64_t kGranularity_s = 60;
    const Path manifest = dir / Manifest::kFileName;
    const auto facts = filesystem::facts_of(manifest);
    if (!facts || facts->st_mtim.tv_sec + kGranularity_s > time(nullptr)) return;
    utimensat(AT_FDCWD, manifest.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  } catch (...) {
  }
}

inline EntrySize measure_entry(const Path& dir) {
  EntrySize size{dir, 0, 0, 0};
  for (const std::string& name : filesystem::list_dir(dir)) {
    const auto facts = filesystem::facts_of(dir / name);
    if (!facts) continue;
    size.num_bytes += static_cast<std::uint64_t>(facts->st_size);
    if (name == Manifest::kFileName) {
      size.used_s = facts->st_mtim.tv_sec;
      size.used_ns = facts->st_mtim.tv_nsec;
    }
  }
  return size;
}

struct Evicted {
  std::size_t num_entries = 0;  // that went
  std::uint64_t num_bytes = 0;  // that went with them
  std::uint64_t num_bytes_left = 0;
};

// Renamed first: nobody ever finds half an entry.
inline bool remove_entry(const Layer& layer, const Path& dir) {
  if (!filesystem::private_mkdirs(layer.tmp())) return false;
  const Path trash = layer.tmp() / ("trash." + get_uuid());
  if (filesystem::syscalls().rename(dir.c_str(), trash.c_str()) != 0) return false;
  filesystem::remove_tree(trash);
  return true;
}

inline void drop_leftovers(const Path& folder, std::int64_t max_age_s) {
  for (const std::string& name : filesystem::list_dir(folder)) {
    const auto facts = filesystem::facts_of(folder / name);
    if (facts && facts->st_mtim.tv_sec + max_age_s < time(nullptr))
      filesystem::remove_tree(folder / name);
  }
}

inline Evicted evict(const Layer& layer, std::uint64_t max_bytes, const Path& keep) {
  constexpr std::int64_t kDay_s = 86400;
  drop_leftovers(layer.tmp(), kDay_s);
  drop_leftovers(layer.damaged(), 7 * kDay_s);
  std::vector<EntrySize> sizes;
  Evicted done;
  for (const Path& folder : {layer.entries(), layer.packs()}) {
    for (const std::string& name : filesystem::list_dir(folder)) {
      sizes.push_back(measure_entry(folder / name));
      done.num_bytes_left += sizes.back().num_bytes;
    }
  }
  std::sort(sizes.begin(), sizes.end(), [](const EntrySize& a, const EntrySize& b) {
    return std::pair(a.used_s, a.used_ns) < std::pair(b.used_s, b.used_ns);
  });
  for (const EntrySize& size : sizes) {
    if (done.num_bytes_left <= max_bytes) break;
    if (size.dir == keep || !remove_entry(layer, size.dir)) continue;
    ++done.num_entries;
    done.num_bytes += size.num_bytes;
    done.num_bytes_left -= size.num_bytes;
  }
  return done;
}

}  // namespace cache_detail
}  // namespace DJ_HIDDEN deep_jit
