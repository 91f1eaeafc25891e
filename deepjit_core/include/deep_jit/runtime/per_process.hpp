// State that a forked child must not inherit: the threads that would finish it are not there.
//
//   PerProcess<SingleFlight<Kernel>> flights;
//   flights.current().run(key, build);   // the child's first call makes a fresh one
//
// Leaves what the state is to its users: runtime.hpp, and the thread pool of the host back end.
#pragma once

#include <pthread.h>

#include <atomic>
#include <memory>

#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {
namespace detail {

// How many forks lie between this process and the one that first asked.
inline std::atomic<unsigned>& fork_count() {
  static std::atomic<unsigned> count{0};
  static const int registered = pthread_atfork(
      nullptr, nullptr, [] { fork_count().fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return count;
}

template <class State>
class PerProcess {
 public:
  PerProcess() : owned_(new Owned(fork_count().load())) {}
  ~PerProcess() { delete owned_.load(); }
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  State& current() {
    const unsigned now = fork_count().load(std::memory_order_relaxed);
    Owned* owned = owned_.load(std::memory_order_acquire);
    if (owned->owner == now) [[likely]]
      return owned->state;
    // Why: no mutex here, it could have been held at the fork. The parent's state is left alone,
    // since its own locks may never be opened again.
    auto fresh = std::make_unique<Owned>(now);
    if (owned_.compare_exchange_strong(owned, fresh.get(), std::memory_order_acq_rel))
      owned = fresh.release();
    return owned->state;
  }

 private:
  struct Owned {
    explicit Owned(unsigned fork) : owner(fork) {}
    const unsigned owner;
    State state;
  };
  std::atomic<Owned*> owned_;
};

}  // namespace detail
}  // namespace DJ_HIDDEN deep_jit
