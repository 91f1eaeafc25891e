// Loaded values by key, shared by all threads of the process.
//
//   MemCache<Kernel> cache;
//   if (auto kernel = cache.get(key)) return kernel;
//   return cache.put(key, load());    // whatever is kept: the first one put wins
//
// Leaves eviction to nobody (values stay until clear()) and building to single_flight.hpp.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {

template <class V>
class MemCache {
 public:
  std::shared_ptr<V> get(std::string_view key) const {
    const std::shared_lock<std::shared_mutex> guard(mutex_);
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : found->second;
  }

  std::shared_ptr<V> put(std::string_view key, std::shared_ptr<V> value) {
    const std::unique_lock<std::shared_mutex> guard(mutex_);
    return values_.try_emplace(std::string(key), std::move(value)).first->second;
  }

  void erase(std::string_view key) {
    std::shared_ptr<V> last;  // its destructor runs after the lock is gone
    const std::unique_lock<std::shared_mutex> guard(mutex_);
    const auto found = values_.find(key);
    if (found == values_.end()) return;
    last = std::move(found->second);
    values_.erase(found);
  }

  void clear() {
    Values old;
    const std::unique_lock<std::shared_mutex> guard(mutex_);
    old.swap(values_);
  }

  std::size_t size() const {
    const std::shared_lock<std::shared_mutex> guard(mutex_);
    return values_.size();
  }

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  using Values = std::unordered_map<std::string, std::shared_ptr<V>, TextHash, std::equal_to<>>;

  mutable std::shared_mutex mutex_;
  Values values_;
};

}  // namespace DJ_HIDDEN deep_jit
