// What was prepared for a problem, by everything that decides it.
//   PlanCache<Key, Value> cache(4096);
//   auto value = cache.find(key, hash);                 // shared lock, no allocation
//   if (!value) cache.put(key, hash, value = make());
// Bounded: when full, it starts over, since what is in use comes back at once. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

namespace deep_gemm {

template <class Key, class Value>
class PlanCache {
 public:
  explicit PlanCache(std::size_t max_entries) : max_entries_(max_entries) {}

  std::shared_ptr<const Value> find(const Key& key, std::uint64_t hash) const {
    const std::shared_lock<std::shared_mutex> guard(mutex_);
    const auto [first, last] = entries_.equal_range(hash);
    for (auto it = first; it != last; ++it)
      if (it->second.first == key) return it->second.second;
    return nullptr;
  }

  // Two threads may both have made a value: either serves.
  void put(const Key& key, std::uint64_t hash, std::shared_ptr<const Value> value) {
    const std::lock_guard<std::shared_mutex> guard(mutex_);
    if (entries_.size() >= max_entries_) entries_.clear();
    entries_.emplace(hash, std::pair(key, std::move(value)));
  }

  std::size_t size() const {
    const std::shared_lock<std::shared_mutex> guard(mutex_);
    return entries_.size();
  }

 private:
  const std::size_t max_entries_;
  mutable std::shared_mutex mutex_;
  std::unordered_multimap<std::uint64_t, std::pair<Key, std::shared_ptr<const Value>>> entries_;
};

}  // namespace deep_gemm
