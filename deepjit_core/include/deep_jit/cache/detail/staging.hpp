// A private folder to build an entry in, and the advisory lock around building.
//
//   Staging staging = Staging::create(layer.tmp(), "gemm", status);
//   compile_into(staging.dir());       // removed with the object unless it is published
//   KeyLock lock = KeyLock::acquire(layer.locks() / key, 30s);   // held or not: go on either way
//
// Leaves publishing to publish.hpp.
#pragma once

#include <time.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <deep_jit/cache/detail/layer.hpp>
#include <deep_jit/utils/filesystem.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/uuid.hpp>

namespace DJ_HIDDEN deep_jit {

class Staging {
 public:
  const std::filesystem::path& dir() const { return holder_->dir; }
  // Unpublishable: there was no layer to write to.
  bool is_private() const { return layer_index_ < 0; }
  int layer_index() const { return layer_index_; }
  // Keeps the folder for as long as somebody holds it.
  std::shared_ptr<void> keepalive() const { return holder_; }
  // It has been renamed away: nothing is left to remove.
  void release() { holder_->is_published = true; }

  static std::optional<Staging> create(const std::filesystem::path& parent, std::string_view name,
                                       int layer_index, filesystem::Status& status) {
    constexpr int kMaxTries = 8;
    for (int i = 0; i < kMaxTries; ++i) {
      const auto dir = parent / (cache_detail::plain_component(name) + "." + get_uuid());
      if (filesystem::detail::retry(
              [&] { return filesystem::syscalls().mkdir(dir.c_str(), 0700); }) == 0)
        return Staging(dir, layer_index);
      status = filesystem::failed("mkdir", dir);
      if (status.error != EEXIST) break;
    }
    return std::nullopt;
  }

 private:
  struct Holder {
    explicit Holder(std::filesystem::path folder) : dir(std::move(folder)) {}
    ~Holder() {
      // Why: a forked child that ends must not take its parent's folder along.
      if (!is_published && owner == getpid()) filesystem::remove_tree(dir);
    }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
    std::filesystem::path dir;
    bool is_published = false;
    pid_t owner = getpid();
  };

  Staging(std::filesystem::path dir, int layer_index)
      : holder_(std::make_shared<Holder>(std::move(dir))), layer_index_(layer_index) {}

  std::shared_ptr<Holder> holder_;
  int layer_index_;
};

// flock: the kernel lets go when the holder dies. The file stays: deleting it would let two holders
// lock two files of one name.
class KeyLock {
 public:
  KeyLock() = default;
  KeyLock(KeyLock&&) = default;
  KeyLock& operator=(KeyLock&& other) noexcept {
    if (this != &other) {
      unlock();
      file_ = std::move(other.file_);
      is_held_ = std::exchange(other.is_held_, false);
    }
    return *this;
  }
  ~KeyLock() { unlock(); }

  bool is_held() const { return is_held_ && file_.get() >= 0; }

  static KeyLock acquire(const std::filesystem::path& path, std::chrono::milliseconds bound) {
    using Clock = std::chrono::steady_clock;
    KeyLock lock;
    lock.file_ = filesystem::detail::open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
    if (lock.file_.get() < 0) return lock;
    const auto end = Clock::now() + bound;
    for (long pause_us = 500;; pause_us = pause_us < 20000 ? 2 * pause_us : 20000) {
      if (filesystem::detail::retry([&] {
            return filesystem::syscalls().flock(lock.file_.get(), LOCK_EX | LOCK_NB);
          }) == 0) {
        lock.is_held_ = true;
        return lock;
      }
      // Anything but "held by another" means that this file system has no locks.
      if (errno != EWOULDBLOCK || Clock::now() >= end) return lock;
      const timespec pause{0, pause_us * 1000};
      nanosleep(&pause, nullptr);
    }
  }

 private:
  // Explicit, so that a descriptor that a fork copied does not prolong the lock.
  void unlock() {
    if (is_held()) filesystem::syscalls().flock(file_.get(), LOCK_UN);
    is_held_ = false;
    file_.close();
  }

  filesystem::detail::Descriptor file_;
  bool is_held_ = false;
};

}  // namespace DJ_HIDDEN deep_jit
