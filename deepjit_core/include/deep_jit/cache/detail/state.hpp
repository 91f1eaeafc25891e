// What a DiskCache knows: its layers, whom it trusts, what it has said; and the steps it is made
// of.
//
//   class DiskCache : private cache_detail::DiskState { ... };
//
// Leaves the public verbs to cache/disk.hpp.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <deep_jit/cache/detail/evict.hpp>
#include <deep_jit/cache/detail/layer.hpp>
#include <deep_jit/cache/detail/publish.hpp>
#include <deep_jit/cache/detail/staging.hpp>
#include <deep_jit/cache/entry_manifest.hpp>
#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/filesystem.hpp>
#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cache_detail {

struct CacheEntry {
  Path dir;
  Manifest manifest = {};
  bool ephemeral = false;  // in a private folder that goes with the last keepalive
  std::shared_ptr<void> keepalive = {};
};

class DiskState {
 protected:
  DiskState(std::vector<Path> dirs, std::uint64_t max_bytes,
            std::function<void(std::string_view)> warn, std::vector<uid_t> owners,
            std::vector<Path> shipped)
      : max_bytes_(max_bytes), trust_{std::move(owners)}, warner_(std::move(warn)) {
    for (auto& dir : dirs)
      if (!dir.empty()) layers_.push_back({std::move(dir)});
    for (auto& dir : shipped)
      if (!dir.empty()) layers_.push_back({std::move(dir), true});
  }

  const Layer& layer_of(const Staging& staging) const {
    return layers_[static_cast<std::size_t>(staging.layer_index())];
  }

  // What is not there yet is trusted: it will be made by us.
  bool is_trusted(const Layer& layer) {
    for (const Path& folder : {layer.root, layer.entries(), layer.packs(), layer.tmp(),
                               layer.locks(), layer.damaged()}) {
      struct stat facts = {};
      // Only the root may be a link: below it everything is ours.
      auto* look =
          folder == layer.root ? filesystem::syscalls().stat : filesystem::syscalls().lstat;
      if (look(folder.c_str(), &facts) != 0) continue;
      std::string why = trust_.refusal(facts, folder);
      if (why.empty() && folder != layer.root && !S_ISDIR(facts.st_mode))
        why = str::format("{} is no folder", folder);
      if (why.empty()) continue;
      warner_.once(layer.root.string(),
                   str::format("kernel cache: {} is not used: {}.\n  Fix: use a folder of your own "
                               "with mode 0700.",
                               layer.root, why));
      return false;
    }
    return true;
  }

  // visit(layer, folder of entries, is_user_layer) until it returns false.
  template <class Visit>
  void for_each_folder(Visit&& visit) {
    bool has_user_layer = false;
    for (const Layer& layer : layers_) {
      if (!is_trusted(layer)) continue;
      const bool is_user_layer =
          !layer.is_shipped && !has_user_layer && access(layer.root.c_str(), W_OK) == 0;
      has_user_layer = has_user_layer || is_user_layer;
      if (!visit(layer, layer.entries(), is_user_layer) || !visit(layer, layer.packs(), false))
        return;
    }
  }

  template <class Visit>
  void for_each_entry(Visit&& visit) {
    for_each_folder([&](const Layer& layer, const Path& folder, bool) {
      for (const std::string& name : filesystem::list_dir(folder)) visit(layer, folder / name);
      return true;
    });
  }

  void warn_bad(const Path& dir, std::string_view why, bool is_aside) noexcept {
    try {
      warner_.once(dir.string(),
                   str::format("kernel cache: {} is not used: {}.{}", dir, why,
                               is_aside ? " It was set aside and will be built again." : ""));
    } catch (...) {
    }
  }

  std::optional<Manifest> verified(const Layer& layer, const Path& dir) {
    if (is_ignored(dir)) return std::nullopt;
    Finding finding = check_entry(dir, trust_);
    if (finding.verdict == Verdict::kGood) return std::move(finding.manifest);
    if (finding.verdict == Verdict::kDamaged) {
      const bool is_aside = !layer.is_shipped && set_aside(layer, dir);
      warn_bad(dir, finding.why, is_aside);
    } else if (finding.verdict != Verdict::kGone) {
      warn_bad(dir, finding.why, false);
    }
    return std::nullopt;
  }

  // Refused by a loader, on a layer that cannot be written.
  bool is_ignored(const Path& dir) {
    const std::lock_guard<std::mutex> guard(mutex_);
    return ignored_.count(dir.string()) != 0;
  }
  void ignore(const Path& dir) {
    const std::lock_guard<std::mutex> guard(mutex_);
    ignored_.insert(dir.string());
  }

  std::optional<Staging> stage_on(std::size_t index, std::string_view name, std::string& why) {
    const Layer& layer = layers_[index];
    if (layer.is_shipped) return std::nullopt;
    if (!is_trusted(layer)) {
      why = str::format("{} is not safe to use", layer.root);
      return std::nullopt;
    }
    filesystem::Status status = filesystem::private_mkdirs(layer.tmp());
    // A compiler that meets a full disk half way would fail the build; a cache must not.
    constexpr std::uint64_t kRoom = 4u << 20;
    struct statvfs space = {};
    if (status && filesystem::syscalls().statvfs(layer.tmp().c_str(), &space) == 0 &&
        static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize < kRoom)
      status = {ENOSPC, "statvfs", layer.tmp()};
    std::optional<Staging> staging;
    if (status) staging = Staging::create(layer.tmp(), name, static_cast<int>(index), status);
    if (!staging) why = status.describe();
    return staging;
  }

  void warn_memory_only(std::string_view why) noexcept {
    try {
      warner_.once("memory-only",
                   str::format("kernel cache: kept in memory only, the next process builds again: "
                               "{}.\n  Fix: point <PREFIX>_JIT_CACHE_DIR at a folder of yours with "
                               "free space.",
                               why));
    } catch (...) {
    }
  }

  // True when `own` now is the published entry.
  bool publish_on(Staging& staging, Manifest& manifest, CacheEntry& own) {
    const Layer& layer = layer_of(staging);
    Published outcome = publish_folder(staging.dir(), layer, layer.entries(), manifest, trust_);
    if (outcome.kind == Published::kFailed) warn_memory_only(outcome.status.describe());
    if (outcome.kind != Published::kYes) return false;
    staging.release();
    own.dir = std::move(outcome.dir);
    own.ephemeral = false;
    own.keepalive = nullptr;
    return true;
  }

  // A scan at the first publish and whenever the bound may be passed; between these, additions.
  void note_growth(const Layer& layer, const CacheEntry& added) {
    if (max_bytes_ == 0) return;
    const std::lock_guard<std::mutex> guard(evict_mutex_);
    constexpr int kScanEvery = 64;  // others write here too
    layer_bytes_ += measure_entry(added.dir).num_bytes;
    if (num_publishes_++ % kScanEvery == 0 || layer_bytes_ > max_bytes_)
      layer_bytes_ = evict(layer, max_bytes_, added.dir).num_bytes_left;
  }

  [[noreturn]] static void fail_io(std::string_view verb, const Path& file,
                                   const filesystem::Status& status) {
    DJ_FAIL(kCache,
            "{}: file: given {}.\n  Rule FILE_IO: the file and the cache folder can be read and "
            "written; {}.\n  Fix: free space, or name another place.",
            verb, file, status.describe());
  }

  std::vector<Layer> layers_;
  std::uint64_t max_bytes_;
  Trust trust_;
  Warner warner_;

 private:
  std::mutex mutex_;
  std::set<std::string> ignored_;
  std::mutex evict_mutex_;
  std::uint64_t layer_bytes_ = 0;
  int num_publishes_ = 0;
};

}  // namespace cache_detail
}  // namespace DJ_HIDDEN deep_jit
