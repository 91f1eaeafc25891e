// Events: sums are right from many threads, and a callback can come and go.
#include <deep_jit/runtime/events.hpp>

#include <string>
#include <thread>
#include <vector>

#include "tests/support/check.hpp"

using deep_jit::Event;
using deep_jit::Events;

TEST(Events, CountersAddUpOverThreads) {
  Events events;
  std::atomic<int> num_seen{0};
  events.set_callback([&](const Event&) { ++num_seen; });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 1000; ++j) events.report({Event::Kind::kCompile, "k", "r", 0.5});
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK_EQ(events.counters.compiles.load(), 4000u);
  CHECK_EQ(events.counters.compile_ms.load(), 2000.0);
  CHECK_EQ(num_seen.load(), 4000);
  events.reset();
  CHECK_EQ(events.counters.compiles.load(), 0u);
}

TEST(Events, ClearedCallbackIsNotCalled) {
  Events events;
  int num_seen = 0;
  events.set_callback([&](const Event&) { ++num_seen; });
  events.report({Event::Kind::kLoad, "k", "r", 1});
  events.set_callback({});
  events.report({Event::Kind::kLoad, "k", "r", 1});
  CHECK_EQ(num_seen, 1);
  CHECK_EQ(events.counters.loads.load(), 2u);
  CHECK_EQ(events.counters.load_ms.load(), 2.0);
}

TEST(Events, EachKindHasItsName) {
  CHECK_EQ(std::string(deep_jit::event_name(Event::Kind::kCompile)), std::string("compile"));
  CHECK_EQ(std::string(deep_jit::event_name(Event::Kind::kDiskHit)), std::string("disk_hit"));
  CHECK_EQ(std::string(deep_jit::event_name(Event::Kind::kMemoryHit)), std::string("memory_hit"));
  CHECK_EQ(std::string(deep_jit::event_name(Event::Kind::kLoad)), std::string("load"));
}

CHECK_MAIN()
