// precompile: every request is done once, failures are told by name, progress counts up.
#include <deep_jit/runtime/precompile.hpp>

#include <string>
#include <vector>

#include "tests/deepjit_core/runtime/fake_backend.hpp"
#include "tests/support/check.hpp"

using Jit = deep_jit::Runtime<FakeBackend>;
using Request = deep_jit::KernelRequest<FakeBackend>;

TEST(Precompile, FillsTheCacheWithoutADeviceAndTellsProgress) {
  reset_fake();
  TestDir dir;
  fake().has_device = false;
  std::vector<Request> requests;
  for (int i = 0; i < 20; ++i)
    requests.push_back({"k" + std::to_string(i), "source " + std::to_string(i), {.arch = "far"}});
  requests.push_back({"broken", "error", {.arch = "far"}});
  Jit jit(dir.config());
  std::size_t last = 0;
  bool counts_up = true;
  const auto report = deep_jit::precompile<FakeBackend>(
      jit, requests, 4, [&](std::size_t done, std::size_t total, std::string_view, double ms) {
        counts_up = counts_up && done == last + 1 && total == 21 && ms >= 0;
        last = done;
      });
  CHECK(counts_up);
  CHECK_EQ(last, std::size_t{21});
  CHECK_EQ(report.total, std::size_t{21});
  CHECK_EQ(report.failures.size(), std::size_t{1});
  CHECK_EQ(report.failures.front().name, std::string("broken"));
  CHECK(report.failures.front().message.find("error in source") != std::string::npos);
  CHECK_EQ(fake().num_loads.load(), 0);
  setenv("FAKE_JIT_MODE", "forbid", 1);
  for (int i = 0; i < 20; ++i)
    jit.compile_without_load(requests[i].name, requests[i].source, requests[i].options);
  CHECK_EQ(fake().num_compiles.load(), 21);
}

TEST(Precompile, MayLoadTooAndTakesAnEmptyList) {
  reset_fake();
  TestDir dir;
  Jit jit(dir.config());
  CHECK_EQ(deep_jit::precompile<FakeBackend>(jit, std::vector<Request>{}).total, std::size_t{0});
  const std::vector<Request> requests = {{"a", "1"}, {"b", "2"}, {"a", "1"}};
  const auto report = deep_jit::precompile<FakeBackend>(jit, requests, 2, {},
                                                        deep_jit::PrecompileStep::kCompileAndLoad);
  CHECK(report.failures.empty());
  CHECK_EQ(fake().num_compiles.load(), 2);
  CHECK_EQ(jit.events.counters.loads.load(), 2u);
}

TEST(Precompile, SaysOfEachRequestWhetherItWasCachedAndHowLongItTook) {
  reset_fake();
  TestDir dir;
  fake().delay_ms = 20;
  Jit jit(dir.config());
  jit.compile_without_load("b", "2");
  const std::vector<Request> requests = {{"a", "1"}, {"b", "2"}, {"c", "error"}};
  const auto report = deep_jit::precompile<FakeBackend>(jit, requests, 1);
  CHECK_EQ(report.rows.size(), std::size_t{3});
  CHECK_EQ(report.rows[0].name, std::string("a"));
  CHECK(!report.rows[0].was_cached && report.rows[0].ms >= 20);
  CHECK_EQ(report.rows[0].request, jit.cache_key("1"));
  CHECK(report.rows[1].was_cached && report.rows[1].ms < 20);
  CHECK(report.rows[2].error.find("error in source") != std::string::npos);
}

CHECK_MAIN()
