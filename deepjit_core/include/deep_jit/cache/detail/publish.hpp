// Turns a staging folder into an entry: checksums, fsync, one atomic rename.
//
//   Published outcome = publish_folder(staging.dir(), entries, manifest, trust);
//   if (outcome.kind == Published::kYes) use(outcome.dir);   // else the staging folder is the
//   entry
//
// Leaves warnings and lifetimes to cache/disk.hpp.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <deep_jit/cache/detail/layer.hpp>
#include <deep_jit/utils/filesystem.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/uuid.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cache_detail {

struct Published {
  enum Kind { kYes, kLost, kFailed };
  Kind kind = kFailed;
  Path dir;
  filesystem::Status status;
};

// Out of the way but kept for whoever wants to know why. Never throws; false: still in place.
inline bool set_aside(const Layer& layer, const Path& entry) noexcept {
  try {
    if (!filesystem::private_mkdirs(layer.damaged())) return false;
    const Path target = layer.damaged() / (entry.filename().string() + "." + get_uuid());
    return filesystem::syscalls().rename(entry.c_str(), target.c_str()) == 0;
  } catch (...) {
    return false;
  }
}

// An entry is flat: links and folders that a compiler left behind are dropped.
inline filesystem::Status seal_files(const Path& dir, Manifest& manifest) {
  manifest.files.clear();
  auto names = filesystem::list_dir(dir);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const Path path = dir / name;
    filesystem::Status status;
    const auto facts = filesystem::facts_of(path, &status);
    if (!facts) return status;
    if (!S_ISREG(facts->st_mode) || !Manifest::is_plain_name(name)) {
      filesystem::remove_tree(path);
      continue;
    }
    // Compilers follow the umask, which may let the group write.
    if (filesystem::syscalls().chmod(path.c_str(), facts->st_mode & 0700) != 0)
      return filesystem::failed("chmod", path);
    const auto bytes = filesystem::read_file(path, &status);
    if (!bytes) return status;
    if (status = filesystem::fsync_file(path); !status) return status;
    manifest.files.push_back({name, bytes->size(), sha256_hex(*bytes)});
  }
  return {};
}

inline Published publish_folder(const Path& staging, const Layer& layer, const Path& entries,
                                Manifest& manifest, const Trust& trust) {
  Published outcome;
  outcome.status = seal_files(staging, manifest);
  if (!outcome.status) return outcome;
  outcome.status =
      filesystem::write_file_durable(staging / Manifest::kFileName, manifest.serialize());
  if (outcome.status) outcome.status = filesystem::fsync_dir(staging);
  if (outcome.status) outcome.status = filesystem::private_mkdirs(entries);
  if (!outcome.status) return outcome;
  const Path target = entries / entry_folder(manifest);
  constexpr int kMaxTries = 2;
  for (int i = 0; i < kMaxTries; ++i) {
    if (filesystem::detail::retry(
            [&] { return filesystem::syscalls().rename(staging.c_str(), target.c_str()); }) == 0) {
      // The entry is there whatever this says; only its durability is at stake.
      filesystem::fsync_dir(entries);
      outcome.kind = Published::kYes;
      outcome.dir = target;
      return outcome;
    }
    outcome.status = filesystem::failed("rename", target);
    const int error = outcome.status.error;
    if (error != EEXIST && error != ENOTEMPTY && error != ENOTDIR) return outcome;
    const Finding there = check_entry(target, trust);
    if (there.verdict == Verdict::kGood && there.manifest->request == manifest.request &&
        there.manifest->name == manifest.name && there.manifest->build == manifest.build) {
      outcome.kind = Published::kLost;
      return outcome;
    }
    if (there.verdict != Verdict::kDamaged && there.verdict != Verdict::kGone) return outcome;
    if (there.verdict == Verdict::kDamaged && !set_aside(layer, target)) return outcome;
  }
  return outcome;
}

}  // namespace cache_detail
}  // namespace DJ_HIDDEN deep_jit
