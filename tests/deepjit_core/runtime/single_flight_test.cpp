// SingleFlight, MemCache and LazyInit under many threads.
#include <math.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <deep_jit/cache/memory.hpp>
#include <deep_jit/runtime/single_flight.hpp>
#include <deep_jit/utils/lazy.hpp>

#include "tests/support/check.hpp"

DJ_DECL_LAZY_DL_HANDLE(get_libm, "libm.so.6")
DJ_DECL_LAZY_DL_FUNCTION(get_libm, cosf)
DJ_DECL_LAZY_DL_HANDLE(get_missing, "libno_such_thing.so.7")

template <class Body>
void in_threads(int num_threads, Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < num_threads; ++i) threads.emplace_back([=] { body(i); });
  for (auto& thread : threads) thread.join();
}

TEST(SingleFlight, OneBuildServesAllThreadsAndNothingIsKept) {
  deep_jit::SingleFlight<int> flights;
  deep_jit::MemCache<int> cache;
  std::atomic<int> num_builds{0}, sum{0};
  in_threads(16, [&](int) {
    sum += *flights.run("k", [&] {
      if (auto kept = cache.get("k")) return kept;
      ++num_builds;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return cache.put("k", std::make_shared<int>(7));
    });
  });
  CHECK_EQ(num_builds.load(), 1);
  CHECK_EQ(sum.load(), 16 * 7);
  CHECK_EQ(flights.num_in_flight(), 0);
}

TEST(SingleFlight, ErrorReachesEveryWaiterAndTheNextCallTriesAgain) {
  deep_jit::SingleFlight<int> flights;
  std::atomic<int> num_errors{0};
  in_threads(8, [&](int) {
    try {
      flights.run("k", []() -> std::shared_ptr<int> {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        throw std::runtime_error("no");
      });
    } catch (const std::runtime_error&) {
      ++num_errors;
    }
  });
  CHECK_EQ(num_errors.load(), 8);
  CHECK_EQ(*flights.run("k", [] { return std::make_shared<int>(1); }), 1);
}

TEST(SingleFlight, BuildThatAsksForItselfIsAnErrorNotADeadlock) {
  deep_jit::SingleFlight<int> flights;
  const auto outer = [&]() -> std::shared_ptr<int> {
    return flights.run("k", [] { return std::make_shared<int>(1); });
  };
  CHECK_THROWS(flights.run("k", outer), kInternal, "asks for itself");
}

TEST(MemCache, FirstValuePutWins) {
  deep_jit::MemCache<int> cache;
  in_threads(8, [&](int i) { cache.put("k", std::make_shared<int>(i)); });
  const int kept = *cache.get("k");
  CHECK_EQ(*cache.put("k", std::make_shared<int>(99)), kept);
  cache.erase("k");
  CHECK(cache.get("k") == nullptr);
  CHECK_EQ(cache.size(), 0);
}

TEST(LazyInit, FactoryRunsOnceForAllThreadsAndAgainAfterAnError) {
  std::atomic<int> num_runs{0};
  deep_jit::LazyInit<int> lazy([&] {
    if (++num_runs == 1) throw std::runtime_error("first");
    return std::make_shared<int>(5);
  });
  CHECK(!lazy.is_ready());
  bool has_thrown = false;
  try {
    lazy.get();
  } catch (const std::runtime_error&) {
    has_thrown = true;
  }
  CHECK(has_thrown);
  std::atomic<int> sum{0};
  in_threads(16, [&](int) { sum += *lazy; });
  CHECK_EQ(sum.load(), 80);
  CHECK_EQ(num_runs.load(), 2);
}

TEST(LazyInit, NullptrIsAnErrorOnUse) {
  deep_jit::LazyInit<std::string> lazy(nullptr);
  CHECK_THROWS(lazy->size(), kInternal, "nullptr");
}

TEST(LazyDl, FunctionIsFoundAtItsFirstCallAndAMissingLibraryIsNamed) {
  CHECK_EQ(lazy_cosf(0.0f), 1.0f);
  CHECK_THROWS(get_missing(), kDevice, "libno_such_thing.so.7");
}

CHECK_MAIN()
