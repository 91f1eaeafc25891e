// Built kernels on disk, in layers of folders: found verified, published atomically.
//
//   DiskCache cache({.dirs = {"/home/me/.dj", "/opt/pack"}, .max_bytes = 1 << 30, .warn = log});
//   if (auto entry = cache.find(name, request, filter)) return load(entry->dir);
//   Staging staging = cache.stage(name);
//   compile_into(staging.dir());
//   auto entry = cache.publish(std::move(staging), manifest);   // works whatever the disk says
//
// Can only make things faster: every I/O failure becomes a miss, or an entry in a private folder
// that lives as long as its keepalive, with one warning. Leaves compiling and keys to runtime/.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <deep_jit/cache/detail/evict.hpp>
#include <deep_jit/cache/detail/layer.hpp>
#include <deep_jit/cache/detail/pack.hpp>
#include <deep_jit/cache/detail/publish.hpp>
#include <deep_jit/cache/detail/staging.hpp>
#include <deep_jit/cache/detail/state.hpp>
#include <deep_jit/cache/entry_manifest.hpp>
#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/filesystem.hpp>
#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {

class DiskCache : private cache_detail::DiskState {
  using Layer = cache_detail::Layer;

 public:
  using Path = std::filesystem::path;

  struct Options {
    std::vector<Path> dirs = {};  // read in this order; the first that can be is written
    std::uint64_t max_bytes = 0;  // of the written layer; 0: no bound
    std::function<void(std::string_view)> warn = {};
    std::vector<uid_t> trusted_owners = {};  // besides this user and root
    std::vector<Path> shipped = {};  // read after `dirs`, never written; any verified build serves
  };

  using Entry = cache_detail::CacheEntry;  // dir, manifest, ephemeral, keepalive

  struct Problem {
    Path dir;
    std::string why;
  };

  // (manifest, is_user_layer): a user's own layer may be held to the build of today's compiler.
  using BuildFilter = std::function<bool(const Manifest&, bool)>;

  explicit DiskCache(Options options)
      : DiskState(std::move(options.dirs), options.max_bytes, std::move(options.warn),
                  std::move(options.trusted_owners), std::move(options.shipped)) {}

  std::optional<Entry> find(std::string_view name, std::string_view request,
                            const BuildFilter& accepts) noexcept {
    try {
      const std::string prefix = cache_detail::entry_prefix(name, request);
      std::optional<Entry> found;
      for_each_folder([&](const Layer& layer, const Path& entries, bool is_user_layer) {
        for (const std::string& folder : filesystem::list_dir(entries)) {
          if (!str::starts_with(folder, prefix)) continue;
          auto manifest = verified(layer, entries / folder);
          if (!manifest || manifest->name != name || manifest->request != request) continue;
          if (accepts && !accepts(*manifest, is_user_layer)) continue;
          if (!layer.is_shipped) cache_detail::touch_entry(entries / folder);
          found = Entry{entries / folder, std::move(*manifest)};
          return false;
        }
        return true;
      });
      return found;
    } catch (...) {
      return std::nullopt;
    }
  }

  // A folder to build in: on the first layer that can be written, else private to this process.
  // Throws Cache only when the machine has no writable temporary folder either.
  Staging stage(std::string_view name) {
    filesystem::Status status;
    std::string why = "no cache folder is configured";
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (auto staging = stage_on(i, name, why)) return std::move(*staging);
    }
    warn_memory_only(why);
    const char* chosen = std::getenv("TMPDIR");
    for (const char* parent : {chosen, "/tmp", "/var/tmp", "/dev/shm"}) {
      if (parent == nullptr || *parent == '\0') continue;
      if (auto staging = Staging::create(parent, str::format("deep_jit.{}", name), -1, status))
        return std::move(*staging);
    }
    DJ_FAIL(kCache,
            "kernel cache: temporary folder: given TMPDIR, /tmp, /var/tmp, /dev/shm.\n"
            "  Rule BUILD_FOLDER: a build needs a folder to write to; {}.\n"
            "  Fix: set TMPDIR to a writable folder.",
            status.describe());
  }

  Entry publish(Staging&& staging, Manifest manifest) noexcept {
    Entry own{staging.dir(), {}, true, staging.keepalive()};
    try {
      if (!staging.is_private()) {
        if (publish_on(staging, manifest, own)) note_growth(layer_of(staging), own);
      } else {
        cache_detail::seal_files(staging.dir(), manifest);
      }
    } catch (...) {
      warner_.once("publish", "kernel cache: an entry could not be published: out of memory");
    }
    own.manifest = std::move(manifest);
    return own;
  }

  // Sets an entry aside, such as one that the driver refused; a later find() misses it.
  void discard(const Entry& entry, std::string_view why) noexcept {
    try {
      for (const Layer& layer : layers_) {
        const Path folder = entry.dir.parent_path();
        if (entry.ephemeral || (folder != layer.entries() && folder != layer.packs())) continue;
        const bool is_aside = !layer.is_shipped && cache_detail::set_aside(layer, entry.dir);
        warn_bad(entry.dir, why, is_aside);
        if (!is_aside) ignore(entry.dir);
      }
    } catch (...) {
    }
  }

  // Waits at most `bound`. Not held afterwards means: go on without.
  KeyLock lock(std::string_view name, std::string_view request,
               std::chrono::milliseconds bound) noexcept {
    try {
      const std::string file = cache_detail::entry_prefix(name, request) + "lock";
      for (const Layer& layer : layers_) {
        if (layer.is_shipped || !is_trusted(layer) || !filesystem::private_mkdirs(layer.locks()) ||
            access(layer.locks().c_str(), W_OK) != 0)
          continue;
        return KeyLock::acquire(layer.locks() / file, bound);
      }
    } catch (...) {
    }
    return {};
  }

  // Entries of all layers whose manifest is whole.
  std::vector<Entry> list() {
    std::vector<Entry> entries;
    for_each_entry([&](const Layer&, const Path& dir) {
      const auto text = filesystem::read_file(dir / Manifest::kFileName);
      if (auto manifest = text ? Manifest::parse(*text) : std::nullopt)
        entries.push_back({dir, std::move(*manifest)});
    });
    return entries;
  }

  // Reads everything; bad entries are reported, not moved.
  std::vector<Problem> verify() {
    std::vector<Problem> problems;
    for_each_entry([&](const Layer&, const Path& dir) {
      auto finding = cache_detail::check_entry(dir, trust_);
      if (finding.verdict != cache_detail::Verdict::kGood &&
          finding.verdict != cache_detail::Verdict::kGone)
        problems.push_back({dir, std::move(finding.why)});
    });
    return problems;
  }

  // Of the first layer: least recently used entries, until at most max_bytes are left.
  cache_detail::Evicted prune(std::uint64_t max_bytes) {
    if (layers_.empty() || layers_[0].is_shipped || !is_trusted(layers_[0])) return {};
    return cache_detail::evict(layers_[0], max_bytes, {});
  }

  void pack(const std::vector<Entry>& entries, const Path& file) {
    std::vector<Path> folders;
    for (const Entry& entry : entries) folders.push_back(entry.dir);
    const std::string bytes = cache_detail::encode_pack(folders, trust_);
    const Path temporary = file.string() + "." + get_uuid();
    auto status = filesystem::write_file_durable(temporary, bytes, 0644);
    if (status && filesystem::syscalls().rename(temporary.c_str(), file.c_str()) != 0) {
      status = filesystem::failed("rename", file);
      filesystem::remove_tree(temporary);
    }
    if (!status) fail_io("pack", file, status);
  }

  // Into packs/ of the first writable layer. Nothing is written unless the whole file is good.
  // Returns the number of entries in the pack; those already there are left alone.
  std::size_t unpack(const Path& file) {
    filesystem::Status status;
    std::error_code error;
    const Path real = std::filesystem::canonical(file, error);
    const auto bytes = filesystem::read_file(error ? file : real, &status);
    if (!bytes) fail_io("unpack", file, status);
    auto packed = cache_detail::decode_pack(*bytes, file);
    for (auto& entry : packed) {
      Staging staging = stage(entry.manifest.name);
      if (staging.is_private()) fail_io("unpack", file, {EROFS, "mkdir", "of a cache folder"});
      for (std::size_t i = 0; i < entry.files.size() && status; ++i)
        status = filesystem::write_file_durable(staging.dir() / entry.manifest.files[i].name,
                                                entry.files[i], 0600);
      if (!status) fail_io("unpack", file, status);
      const Layer& layer = layer_of(staging);
      auto outcome =
          cache_detail::publish_folder(staging.dir(), layer, layer.packs(), entry.manifest, trust_);
      if (outcome.kind == cache_detail::Published::kYes) staging.release();
      if (outcome.kind == cache_detail::Published::kFailed) fail_io("unpack", file, outcome.status);
    }
    return packed.size();
  }
};

}  // namespace DJ_HIDDEN deep_jit
