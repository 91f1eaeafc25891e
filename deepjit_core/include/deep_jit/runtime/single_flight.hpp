// One build per key: whoever asks while it runs waits and shares the result or the error.
//
//   SingleFlight<Kernel> flights;
//   std::shared_ptr<Kernel> kernel = flights.run(key, [&] { return build(); });
//
// Nothing is kept once a flight has landed: results belong to MemCache, and a failed key is tried
// again by the next caller. Waiters release the GIL. Leaves keys and caching to runtime.hpp.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>

#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/gil.hpp>
#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {

template <class V>
class SingleFlight {
 public:
  // `fn` returns std::shared_ptr<V> and runs without any lock of this class.
  template <class Fn>
  std::shared_ptr<V> run(std::string_view key, Fn&& fn) {
    std::shared_ptr<Flight> flight;
    bool is_pilot = false;
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      auto& slot = flights_[std::string(key)];
      is_pilot = slot == nullptr;
      if (is_pilot) slot = std::make_shared<Flight>();
      flight = slot;
    }
    if (!is_pilot) return wait(*flight, key);
    std::shared_ptr<V> value;
    std::exception_ptr error;
    try {
      value = std::forward<Fn>(fn)();
    } catch (...) {
      error = std::current_exception();
    }
    land(key, *flight, value, error);
    if (error) std::rethrow_exception(error);
    return value;
  }

  std::size_t num_in_flight() const {
    const std::lock_guard<std::mutex> guard(mutex_);
    return flights_.size();
  }

 private:
  // Why no condition variable: its wait() of GCC 12 would be the one symbol of the whole library
  // that needs a newer libstdc++ than the rest does.
  struct Flight {
    std::atomic<int> has_landed{0};
    std::thread::id pilot = std::this_thread::get_id();
    std::shared_ptr<V> value;  // Ordering: written before has_landed, read after
    std::exception_ptr error;
  };

  static std::shared_ptr<V> wait(Flight& flight, std::string_view key) {
    DJ_HOST_ASSERT(flight.pilot != std::this_thread::get_id(),
                   "SingleFlight: the build of {} asks for itself", key);
    const GilScopedRelease without_gil;
    flight.has_landed.wait(0, std::memory_order_acquire);
    if (flight.error) std::rethrow_exception(flight.error);
    return flight.value;
  }

  void land(std::string_view key, Flight& flight, const std::shared_ptr<V>& value,
            const std::exception_ptr& error) {
    {
      // Ordering: gone from the table first, so that a late caller starts anew instead of joining
      // what has ended.
      const std::lock_guard<std::mutex> guard(mutex_);
      flights_.erase(std::string(key));
    }
    flight.value = value;
    flight.error = error;
    flight.has_landed.store(1, std::memory_order_release);
    flight.has_landed.notify_all();
  }

  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Flight>> flights_;
};

}  // namespace DJ_HIDDEN deep_jit
