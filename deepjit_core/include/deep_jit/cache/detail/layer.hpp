// One folder of the cache list: its parts, who may own them, and whether an entry is whole.
//
//   Layer layer("/home/me/.dj", trust);
//   Finding finding = check_entry(layer.entries() / folder, trust);
//   if (finding.verdict == Verdict::kGood) use(*finding.manifest);
//
// Leaves the order of layers and what to do with a bad entry to cache/disk.hpp.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <deep_jit/cache/entry_manifest.hpp>
#include <deep_jit/utils/filesystem.hpp>
#include <deep_jit/utils/hash.hpp>
#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cache_detail {

using Path = std::filesystem::path;

// Says each thing once. A reporter that throws is ignored.
class Warner {
 public:
  explicit Warner(std::function<void(std::string_view)> say) : say_(std::move(say)) {}

  void once(const std::string& key, std::string_view text) noexcept {
    try {
      {
        const std::lock_guard<std::mutex> guard(mutex_);
        if (!said_.insert(key).second) return;
      }
      if (say_) say_(text);
    } catch (...) {
    }
  }

 private:
  std::function<void(std::string_view)> say_;
  std::mutex mutex_;
  std::set<std::string> said_;
};

struct Trust {
  std::vector<uid_t> owners;  // besides this user and root

  bool has_owner(uid_t uid) const {
    return uid == geteuid() || uid == 0 ||
           std::find(owners.begin(), owners.end(), uid) != owners.end();
  }

  // Empty: trusted. Who can write into a cache can run code as its reader.
  std::string refusal(const struct stat& facts, const Path& path) const {
    if (!has_owner(facts.st_uid))
      return str::format("{} belongs to user {}, neither you nor root", path, facts.st_uid);
    // A sticky folder lets others add names, not replace ours.
    const bool is_sticky_dir = S_ISDIR(facts.st_mode) && (facts.st_mode & S_ISVTX) != 0;
    if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !is_sticky_dir)
      return str::format("{} can be written by others (mode {:04o})", path, facts.st_mode & 07777);
    return {};
  }
};

struct Layer {
  Path root;
  bool is_shipped = false;  // installed with the library: read, never written

  Path entries() const { return root / "cache"; }
  // Entries that arrived in a pack: built elsewhere, so by another compiler than this machine's.
  Path packs() const { return root / "packs"; }
  Path tmp() const { return root / "tmp"; }
  Path locks() const { return root / "locks"; }
  Path damaged() const { return root / "damaged"; }
};

// A folder name for any text: plain characters stay, everything else is told apart by a digest.
inline std::string plain_component(std::string_view text) {
  constexpr std::size_t kLongest = 100;
  std::string plain;
  for (const char c : text.substr(0, kLongest)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '+';
    plain.push_back(is_plain ? c : '_');
  }
  if (plain == text && !plain.empty()) return plain;
  return plain + "-" + sha256_hex(text).substr(0, 16);
}

inline std::string short_digest(std::string_view digest) {
  return digest.empty() ? std::string("none") : plain_component(digest.substr(0, 32));
}

inline std::string entry_prefix(std::string_view name, std::string_view request) {
  return str::format("{}.{}.", plain_component(name), short_digest(request));
}

inline std::string entry_folder(const Manifest& manifest) {
  return entry_prefix(manifest.name, manifest.request) + short_digest(manifest.build);
}

enum class Verdict { kGood, kGone, kUnreadable, kUntrusted, kDamaged };

struct Finding {
  Verdict verdict = Verdict::kGone;
  std::string why;
  std::optional<Manifest> manifest;
};

inline Finding check_bytes(const Path& path, const Trust& trust, std::string& bytes) {
  filesystem::Status status;
  struct stat facts = {};
  auto read = filesystem::read_file(path, &status, &facts);
  if (!read) {
    // A name that is missing, or no regular file, is damage; a disk that does not answer is not.
    const int error = status.error;
    const bool is_damage =
        error == ENOENT || error == ELOOP || error == EISDIR || error == EINVAL || error == ENXIO;
    return {is_damage ? Verdict::kDamaged : Verdict::kUnreadable, status.describe(), {}};
  }
  if (auto why = trust.refusal(facts, path); !why.empty())
    return {Verdict::kUntrusted, std::move(why), {}};
  bytes = std::move(*read);
  return {Verdict::kGood, {}, {}};
}

// Reads the whole entry: sizes and checksums of every file.
inline Finding check_entry(const Path& dir, const Trust& trust) {
  filesystem::Status status;
  const auto facts = filesystem::facts_of(dir, &status);
  if (!facts)
    return {status.error == ENOENT ? Verdict::kGone : Verdict::kUnreadable, status.describe(), {}};
  if (!S_ISDIR(facts->st_mode)) return {Verdict::kDamaged, str::format("{} is no folder", dir), {}};
  if (auto why = trust.refusal(*facts, dir); !why.empty())
    return {Verdict::kUntrusted, std::move(why), {}};
  std::string bytes;
  Finding finding = check_bytes(dir / Manifest::kFileName, trust, bytes);
  if (finding.verdict == Verdict::kGood) {
    finding.manifest = Manifest::parse(bytes);
    if (!finding.manifest)
      return {Verdict::kDamaged, str::format("{}/{} is not whole", dir, Manifest::kFileName), {}};
    for (const FileRecord& file : finding.manifest->files) {
      Finding part = check_bytes(dir / file.name, trust, bytes);
      if (part.verdict == Verdict::kGood &&
          (bytes.size() != file.size || sha256_hex(bytes) != file.sha256)) {
        part = {
            Verdict::kDamaged, str::format("{} differs from its checksum", dir / file.name), {}};
      }
      if (part.verdict != Verdict::kGood) {
        finding = std::move(part);
        break;
      }
    }
  }
  // Evicted under our hands: an ordinary miss.
  if (finding.verdict == Verdict::kDamaged && !filesystem::facts_of(dir))
    finding.verdict = Verdict::kGone;
  return finding;
}

}  // namespace cache_detail
}  // namespace DJ_HIDDEN deep_jit
