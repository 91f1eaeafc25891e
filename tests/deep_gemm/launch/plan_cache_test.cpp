#include <deep_gemm/csrc/launch/plan_cache.hpp>

#include <atomic>
#include <thread>
#include <vector>

#include <tests/support/check.hpp>

using deep_gemm::PlanCache;

TEST(PlanCache, FindsByKeyAmongEqualHashes) {
  PlanCache<int, int> cache(8);
  cache.put(1, 7, std::make_shared<int>(10));
  cache.put(2, 7, std::make_shared<int>(20));
  CHECK_EQ(*cache.find(1, 7), 10);
  CHECK_EQ(*cache.find(2, 7), 20);
  CHECK(cache.find(3, 7) == nullptr);
}

TEST(PlanCache, NeverHoldsMoreThanItsBound) {
  PlanCache<int, int> cache(16);
  for (int i = 0; i < 1000; ++i) {
    cache.put(i, static_cast<std::uint64_t>(i), std::make_shared<int>(i));
    CHECK(cache.size() <= 16);
  }
  CHECK_EQ(*cache.find(999, 999), 999);
}

TEST(PlanCache, ManyThreadsSeeWholeValues) {
  PlanCache<int, int> cache(32);
  std::vector<std::thread> threads;
  std::atomic<int> num_wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const int key = i % 50;
        if (auto value = cache.find(key, static_cast<std::uint64_t>(key % 5))) {
          num_wrong += *value != key;
        } else {
          cache.put(key, static_cast<std::uint64_t>(key % 5), std::make_shared<int>(key));
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK_EQ(num_wrong.load(), 0);
}

CHECK_MAIN()
