// Runtime with a back end of text: who is asked, in which order, and what is believed.
#include <deep_jit/runtime/runtime.hpp>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/deepjit_core/runtime/fake_backend.hpp"
#include "tests/support/check.hpp"

using deep_jit::Event;
using Jit = deep_jit::Runtime<FakeBackend>;
static_assert(deep_jit::BackendLike<FakeBackend>);

TEST(Runtime, SecondCompileOfAKernelIsAMemoryHit) {
  reset_fake();
  TestDir dir;
  Jit jit(dir.config());
  const auto first = jit.compile("k", "source");
  const auto second = jit.compile("k", "source");
  CHECK(first == second);
  CHECK_EQ(first->text, std::string("source"));
  CHECK_EQ(fake().num_compiles.load(), 1);
  CHECK_EQ(jit.events.counters.memory_hits.load(), 1u);
  CHECK_EQ(jit.events.counters.compiles.load(), 1u);
  CHECK_EQ(jit.events.counters.loads.load(), 1u);
}

TEST(Runtime, SecondRuntimeFindsTheEntryOnDisk) {
  reset_fake();
  TestDir dir;
  Jit(dir.config()).compile("k", "source");
  Jit second(dir.config());
  CHECK_EQ(second.compile("k", "source")->text, std::string("source"));
  CHECK_EQ(fake().num_compiles.load(), 1);
  CHECK_EQ(second.events.counters.disk_hits.load(), 1u);
  CHECK_EQ(second.events.counters.compiles.load(), 0u);
}

TEST(Runtime, RequestFollowsHeaderContentAndNotTimesOrPlaces) {
  reset_fake();
  TestDir one, two;
  const std::string source = "#include <k/a.hpp>\nint x;\n";
  one.write("lib/include/k/a.hpp", "int a = 1;\n");
  two.write("lib/include/k/a.hpp", "int a = 1;\n");
  const std::string key = Jit(one.config()).cache_key(source);
  CHECK_EQ(key.size(), std::size_t{64});
  CHECK_EQ(Jit(two.config()).cache_key(source), key);
  fs::last_write_time(one.path() / "lib/include/k/a.hpp",
                      fs::file_time_type::clock::now() - std::chrono::hours(1000));
  CHECK_EQ(Jit(one.config()).cache_key(source), key);
  one.write("lib/include/k/a.hpp", "int a = 2;\n");
  CHECK(Jit(one.config()).cache_key(source) != key);
  CHECK(Jit(two.config("signed")).cache_key(source) != key);
  CHECK(Jit(two.config()).cache_key(source, {.level = 3}) != key);
  CHECK(Jit(two.config()).cache_key(source, {.arch = "other"}) != key);
}

TEST(Runtime, SameLibraryInTwoPlacesSharesOneCache) {
  reset_fake();
  TestDir one, two;
  for (const TestDir* dir : {&one, &two}) dir->write("lib/include/a.hpp", "int a;");
  TestDir::use_cache(one.path() / "cache");
  Jit(one.config()).compile("k", "#include \"a.hpp\"\n");
  Jit(two.config()).compile("k", "#include \"a.hpp\"\n");
  CHECK_EQ(fake().num_compiles.load(), 1);
}

TEST(Runtime, UserLayerBelievesOnlyItsOwnCompilersBuild) {
  reset_fake();
  TestDir dir;
  Jit(dir.config()).compile("k", "source");
  fake().identity = "fake-2";
  Jit(dir.config()).compile("k", "source");
  CHECK_EQ(fake().num_compiles.load(), 2);
  fake().identity = "fake-1";
  Jit(dir.config()).compile("k", "source");
  CHECK_EQ(fake().num_compiles.load(), 2);
}

TEST(Runtime, WithoutACompilerAnyVerifiedBuildIsTaken) {
  reset_fake();
  TestDir dir;
  Jit(dir.config()).compile("k", "source");
  fake().has_compiler = false;
  CHECK_EQ(Jit(dir.config()).compile("k", "source")->text, std::string("source"));
  CHECK_THROWS(Jit(dir.config()).compile("k", "new source"), kToolchain, "no compiler");
}

TEST(Runtime, PackLayerIsTakenWhateverBuiltIt) {
  reset_fake();
  TestDir dir;
  Jit(dir.config()).compile("k", "source");
  fake().identity = "fake-2";
  TestDir::use_cache((dir.path() / "own").string() + ":" + (dir.path() / "cache").string());
  Jit(dir.config()).compile("k", "source");
  CHECK_EQ(fake().num_compiles.load(), 1);
}

TEST(Runtime, ShippedKernelsServeWhateverBuiltThemUnlessSwitchedOff) {
  reset_fake();
  TestDir dir;
  Jit(dir.config()).compile("k", "source");
  fs::create_directories(dir.path() / "shipped");
  fs::rename(dir.path() / "cache" / "cache", dir.path() / "shipped" / "packs");
  const deep_jit::Config shipped(dir.path() / "lib", "FAKE", "", {dir.path() / "lib" / "include"},
                                 {}, {dir.path() / "shipped"});
  fake().identity = "fake-2";
  setenv("FAKE_JIT_MODE", "forbid", 1);
  Jit jit(shipped);
  CHECK_EQ(jit.compile("k", "source")->text, std::string("source"));
  CHECK_EQ(jit.events.counters.disk_hits.load(), 1);
  CHECK_THROWS(Jit(shipped).compile("k", "other source"), kCache, "forbid");
  setenv("FAKE_JIT_SHIPPED_KERNELS", "0", 1);
  CHECK_THROWS(Jit(shipped).compile("k", "source"), kCache, "forbid");
  unsetenv("FAKE_JIT_SHIPPED_KERNELS");
  CHECK_EQ(fake().num_compiles.load(), 1);
}

TEST(Runtime, BinaryThatTheLoaderRefusesIsRebuiltOnce) {
  reset_fake();
  TestDir dir;
  Jit(dir.config()).compile("k", "source");
  fake().loader_refuses = true;
  CHECK_EQ(Jit(dir.config()).compile("k", "source")->text, std::string("source"));
  CHECK_EQ(fake().num_compiles.load(), 2);
  CHECK_EQ(Jit(dir.config()).compile("k", "source")->text, std::string("source"));
  CHECK_EQ(fake().num_compiles.load(), 2);
}

TEST(Runtime, FreshBinaryThatTheLoaderRefusesIsAnErrorAndNotKept) {
  reset_fake();
  TestDir dir;
  fake().loader_refuses = true;
  CHECK_THROWS(Jit(dir.config()).compile("k", "source"), kDevice, "binary refused");
  Jit(dir.config()).compile("k", "source");
  CHECK_EQ(fake().num_compiles.load(), 2);
}

TEST(Runtime, FailedCompileLeavesNothingBehind) {
  reset_fake();
  TestDir dir;
  Jit jit(dir.config());
  CHECK_THROWS(jit.compile("k", "error"), kToolchain, "error in source");
  CHECK_THROWS(jit.compile("k", "error"), kToolchain, "error in source");
  CHECK_EQ(fake().num_compiles.load(), 2);
  CHECK(jit.disk_cache->list().empty());
}

TEST(Runtime, ForbidPrintsNameDigestAndCommand) {
  reset_fake();
  TestDir dir;
  setenv("FAKE_JIT_MODE", "forbid", 1);
  Jit jit(dir.config());
  CHECK_THROWS(jit.compile("the_name", "source"), kCache, "the_name");
  CHECK_THROWS(jit.compile("the_name", "source"), kCache, jit.cache_key("source"));
  CHECK_THROWS(jit.compile("the_name", "source"), kCache, "precompile");
  CHECK_EQ(fake().num_compiles.load(), 0);
  setenv("FAKE_JIT_MODE", "warn", 1);
  CHECK_EQ(jit.compile("the_name", "source")->text, std::string("source"));
  setenv("FAKE_JIT_MODE", "forbid", 1);
  CHECK_EQ(Jit(dir.config()).compile("the_name", "source")->text, std::string("source"));
  setenv("FAKE_JIT_MODE", "sometimes", 1);
  CHECK_THROWS(jit.compile("the_name", "other"), kInvalidArgument, "allow, warn, forbid");
}

TEST(Runtime, NamesThatAreNoFileNamesAreRefused) {
  reset_fake();
  TestDir dir;
  Jit jit(dir.config());
  for (const char* name : {"", "../up", "a b", ".hidden", "-flag", "a/b", "$(id)"})
    CHECK_THROWS(jit.compile(name, "source"), kInvalidArgument, "KERNEL_NAME");
  CHECK_EQ(fake().num_compiles.load(), 0);
}

TEST(Runtime, CompileWithoutLoadNeedsNoDeviceWhenArchIsGiven) {
  reset_fake();
  TestDir dir;
  fake().has_device = false;
  Jit jit(dir.config());
  const fs::path entry = jit.compile_without_load("k", "source", {.arch = "far"});
  CHECK(fs::exists(entry / "kernel.txt"));
  CHECK_EQ(fake().num_loads.load(), 0);
  CHECK_EQ(jit.compile_without_load("k", "source", {.arch = "far"}), entry);
  CHECK_EQ(fake().num_compiles.load(), 1);
  CHECK_THROWS(jit.compile_without_load("k", "source"), kDevice, "no device");
}

TEST(Runtime, ManyThreadsOfOneColdKeyCompileOnce) {
  reset_fake();
  TestDir dir;
  Jit jit(dir.config());
  fake().delay_ms = 50;
  std::atomic<int> num_right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i) {
    threads.emplace_back([&] {
      if (jit.compile("k", "source")->text == "source") ++num_right;
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK_EQ(num_right.load(), 12);
  CHECK_EQ(fake().num_compiles.load(), 1);
}

TEST(Runtime, CallbackSeesEveryStepAndMayFail) {
  reset_fake();
  TestDir dir;
  Jit jit(dir.config());
  std::string steps;
  jit.events.set_callback([&](const Event& event) {
    steps += std::string(deep_jit::event_name(event.kind)) + ":" + std::string(event.name) + " ";
    throw 1;
  });
  jit.compile("k", "source");
  jit.compile("k", "source");
  CHECK_EQ(steps, std::string("compile:k load:k memory_hit:k "));
  jit.events.set_callback({});
  jit.compile("k", "source");
  CHECK_EQ(jit.events.counters.memory_hits.load(), 2u);
}

TEST(Runtime, LaunchMergesDefaultOptionsAndRefusesNull) {
  reset_fake();
  TestDir dir;
  Jit jit(dir.config());
  jit.default_launch_options.grid_dim = 5;
  const auto kernel = jit.compile("k", "source");
  int value = 0;
  jit.launch(kernel, {}, value);
  CHECK_EQ(value, 5);
  jit.launch(kernel, {.grid_dim = 2}, value);
  CHECK_EQ(value, 7);
  CHECK_THROWS(jit.launch(nullptr, {}, value), kInvalidArgument, "KERNEL_LOADED");
}

TEST(Runtime, CacheListIsReadAtTheFirstCompile) {
  reset_fake();
  TestDir dir;
  Jit jit(dir.config());
  TestDir::use_cache(dir.path() / "late");
  jit.compile("k", "source");
  CHECK(fs::exists(dir.path() / "late" / "cache"));
  CHECK(!fs::exists(dir.path() / "cache"));
}

TEST(Runtime, CacheThatCannotBeWrittenOnlyCostsTheSecondProcess) {
  reset_fake();
  TestDir dir;
  dir.write("file", "a file where a folder should be");
  TestDir::use_cache(dir.path() / "file");
  Jit jit(dir.config());
  CHECK_EQ(jit.compile("k", "source")->text, std::string("source"));
  CHECK_EQ(jit.compile("k", "source")->text, std::string("source"));
  CHECK_EQ(fake().num_compiles.load(), 1);
  CHECK(fs::exists(jit.compile_without_load("k2", "source") / "kernel.txt"));
  unsetenv("FAKE_JIT_CACHE_DIR");
  const std::string home = getenv("HOME") == nullptr ? "" : getenv("HOME");
  unsetenv("HOME");
  CHECK_EQ(Jit(dir.config()).compile("k", "source")->text, std::string("source"));
  setenv("HOME", home.c_str(), 1);
}

TEST(Runtime, LazyJitIsBuiltAtItsFirstUse) {
  reset_fake();
  TestDir dir;
  auto jit = deep_jit::create_lazy_jit<FakeBackend>(dir.config());
  CHECK_EQ(jit->compile("k", "source")->text, std::string("source"));
  CHECK(jit.get() == jit.get());
}

CHECK_MAIN()
