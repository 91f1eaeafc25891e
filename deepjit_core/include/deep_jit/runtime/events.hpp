// What the runtime did: counters that only grow, and one callback for each step.
//
//   jit.events.set_callback([](const Event& event) { log(event_name(event.kind), event.name); });
//   jit.events.counters.compiles.load();   // "zero since ready" is what engines assert
//   jit.events.reset();
//
// The callback runs on the thread that did the work, without the GIL, and must not throw.
// Leaves printing and JSON to the caller.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {

struct Event {
  enum class Kind { kCompile, kDiskHit, kMemoryHit, kLoad };
  Kind kind;
  std::string_view name;     // of the kernel
  std::string_view request;  // digest
  double ms = 0;             // 0 for hits
};

inline std::string_view event_name(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::kCompile:
      return "compile";
    case Event::Kind::kDiskHit:
      return "disk_hit";
    case Event::Kind::kMemoryHit:
      return "memory_hit";
    case Event::Kind::kLoad:
      return "load";
  }
  return "unknown";
}

struct Counters {
  std::atomic<std::uint64_t> compiles{0}, disk_hits{0}, memory_hits{0}, loads{0};
  std::atomic<double> compile_ms{0}, load_ms{0};  // summed
};

class Events {
 public:
  using Callback = std::function<void(const Event&)>;

  Counters counters;

  // An empty callback clears. Calls in progress may still reach the previous one.
  void set_callback(Callback callback) {
    auto shared = callback ? std::make_shared<const Callback>(std::move(callback)) : nullptr;
    has_callback_.store(shared != nullptr, std::memory_order_release);
    const std::lock_guard<std::mutex> guard(mutex_);
    callback_ = std::move(shared);
  }

  void reset() {
    counters.compiles = counters.disk_hits = counters.memory_hits = counters.loads = 0;
    counters.compile_ms = counters.load_ms = 0;
  }

  void report(const Event& event) noexcept {
    switch (event.kind) {
      case Event::Kind::kCompile:
        counters.compiles.fetch_add(1, std::memory_order_relaxed);
        counters.compile_ms.fetch_add(event.ms, std::memory_order_relaxed);
        break;
      case Event::Kind::kDiskHit:
        counters.disk_hits.fetch_add(1, std::memory_order_relaxed);
        break;
      case Event::Kind::kMemoryHit:
        counters.memory_hits.fetch_add(1, std::memory_order_relaxed);
        break;
      case Event::Kind::kLoad:
        counters.loads.fetch_add(1, std::memory_order_relaxed);
        counters.load_ms.fetch_add(event.ms, std::memory_order_relaxed);
        break;
    }
    if (!has_callback_.load(std::memory_order_acquire)) return;
    std::shared_ptr<const Callback> callback;
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      callback = callback_;
    }
    try {
      if (callback) (*callback)(event);
    } catch (...) {
      // A reporter that fails is no reason to lose a kernel.
    }
  }

 private:
  std::atomic<bool> has_callback_{false};
  std::mutex mutex_;
  std::shared_ptr<const Callback> callback_;
};

}  // namespace DJ_HIDDEN deep_jit
