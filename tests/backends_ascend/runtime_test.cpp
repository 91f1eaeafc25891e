// Runtime<Ascend> from source text to numbers: compile, link, discover, load, launch, synchronise,
// read back, against the simulated runtime and the stand-in tools.
#include <atomic>
#include <thread>

#include "tests/backends_ascend/ascend_fixture.hpp"
#include "tests/support/check.hpp"

static_assert(deep_jit::BackendLike<deep_jit::Ascend>);

namespace {

fs::path only_entry(const AscendDir& dir) {
  return fs::directory_iterator(dir.path() / "cache" / "cache")->path();
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST(AscendRuntime, SourceBecomesRightNumbersByBothWaysOfPassingArguments) {
  const AscendDir dir;
  const DeviceStream stream;
  AscendJit jit(dir.config());
  const auto kernel = jit.compile("add", kAddSource);
  for (const int blocks : {1, 3, 24, 200}) CHECK(adds_right(jit, kernel, stream, blocks));
  CHECK(adds_right(jit, kernel, stream, 5, /*use_args_array=*/true));
  CHECK(sim().calls("aclrtLaunchKernelWithArgsArray") == 1);
  CHECK_EQ(std::string(sim().violations()), "");
}

TEST(AscendRuntime, BothCompilersMakeTheSameNumbers) {
  const AscendDir dir;
  const DeviceStream stream;
  for (const char* compiler : {"aclrtc", "bisheng"}) {
    setenv("ASCT_JIT_COMPILER", compiler, 1);
    AscendJit jit(dir.config());
    CHECK(adds_right(jit, jit.compile("add", kAddSource), stream, 7));
    CHECK_EQ(jit.events.counters.compiles.load(), 1u);
  }
  CHECK_EQ(dir.num_runs("aclrtc"), 1);
  CHECK_EQ(dir.num_runs("bisheng"), 1);
}

TEST(AscendRuntime, HitOnDiskLoadsWithoutSpawningATool) {
  const AscendDir dir;
  const DeviceStream stream;
  AscendJit cold(dir.config());
  cold.compile("add", kAddSource);
  AscendJit warm(dir.config());
  CHECK(adds_right(warm, warm.compile("add", kAddSource), stream, 2));
  CHECK_EQ(dir.num_runs("bisheng"), 1);
  CHECK_EQ(dir.num_runs("ld.lld"), 1);
  CHECK_EQ(warm.events.counters.disk_hits.load(), 1u);
  // And where nobody could compile.
  fs::remove(dir.toolkit() / "bin/bisheng");
  fs::remove(dir.toolkit() / "lib64/libacl_rtc.so");
  AscendJit without(dir.config());
  CHECK(adds_right(without, without.compile("add", kAddSource), stream, 2));
}

TEST(AscendRuntime, ManyThreadsOfOneColdKeyCompileOnceAndAllAreRight) {
  const AscendDir dir;
  AscendJit jit(dir.config());
  std::atomic<int> num_right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const DeviceStream stream(i % 2);
      if (adds_right(jit, jit.compile("add", kAddSource), stream, 1 + i)) ++num_right;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(num_right.load(), 8);
  CHECK_EQ(dir.num_runs("bisheng"), 1);
  CHECK_EQ(std::string(sim().violations()), "");
}

TEST(AscendRuntime, DamagedEntryIsBuiltAgain) {
  const AscendDir dir;
  const DeviceStream stream;
  AscendJit(dir.config()).compile("add", kAddSource);
  for (const char* name : {"kernel.o", "kernel.json", "kernel.asc"}) {
    fs::resize_file(only_entry(dir) / name, 10);
    AscendJit jit(dir.config());
    CHECK(adds_right(jit, jit.compile("add", kAddSource), stream, 3));
    CHECK_EQ(jit.events.counters.compiles.load(), 1u);
  }
}

TEST(AscendRuntime, EntryThatTheRuntimeRefusesIsBuiltAgain) {
  const AscendDir dir;
  const DeviceStream stream;
  AscendJit(dir.config()).compile("add", kAddSource);
  sim().fail("aclrtBinaryLoadFromFile", 1, ACL_ERROR_RT_INVALID_HANDLE);
  AscendJit jit(dir.config());
  CHECK(adds_right(jit, jit.compile("add", kAddSource), stream, 3));
  CHECK_EQ(jit.events.counters.compiles.load(), 1u);
}

TEST(AscendRuntime, CompilingAloneNeedsNeitherRuntimeNorDevice) {
  const AscendDir dir;
  AscendJit jit(dir.config());
  const long inits = sim().calls("aclInit"), devices = sim().calls("aclrtGetDevice");
  bool was_called = false;
  const fs::path entry = jit.compile_without_load(
      "add", kAddSource, {.arch = "3510", .post_hook = [&](const fs::path& at) {
                            was_called = fs::exists(at / "kernel.o");
                            std::ofstream(at / "note.txt") << "of the hook";
                          }});
  CHECK_EQ(sim().calls("aclInit"), inits);
  CHECK_EQ(sim().calls("aclrtGetDevice"), devices);
  CHECK(was_called);
  for (const char* name : {"kernel.asc", "kernel.o", "kernel.json", "compile.log", "note.txt"})
    CHECK(fs::exists(entry / name));
  const std::string json = text_of(entry / "kernel.json");
  for (const char* part :
       {"dav-3510", "\"kernelName\":\"add\"", "\"coreType\":\"vector\"", "bisheng of CANN 9.0.0"})
    CHECK(json.find(part) != std::string::npos);
  CHECK_THROWS(jit.compile("add", kAddSource, {.arch = "3510"}), kUnsupported, "TARGET_RUNS");
}

TEST(AscendRuntime, AssemblyIsThereWhenAskedFor) {
  const AscendDir dir;
  AscendJit jit(dir.config());
  const fs::path entry =
      jit.compile_without_load("add", kAddSource, {.dump_asm = true, .arch = "2201"});
  CHECK(text_of(entry / "kernel.s").find("add") != std::string::npos);
}

TEST(AscendRuntime, KernelsReachHeadersOfTheLibraryAndOfTheToolkit) {
  const AscendDir dir;
  const DeviceStream stream;
  dir.write("lib/include/mine/three.h", "#define THREE 3\n");
  AscendJit jit(dir.config());
  const std::string source =
      "#include <mine/three.h>\n#include \"adv_api_sim.h\"\n#include \"kernel_operator.h\"\n"
      "extern \"C\" __global__ __vector__ void six(__gm__ float* out) { *out = SimTwice(THREE); "
      "}\n";
  const std::string key = jit.cache_key(source, {});
  DeviceArray<float> out(1);
  jit.launch(jit.compile("six", source), {.stream = stream.get()}, out.data());
  stream.synchronize();
  CHECK_EQ(out.read()[0], 6.0f);
  dir.write("lib/include/mine/three.h", "#define THREE 4\n");
  CHECK(AscendJit(dir.config()).cache_key(source, {}) != key);
}

TEST(AscendRuntime, KeyDiffersByTargetAndOptionButNotByThePlaceOfTheToolkit) {
  const AscendDir one, two("another");
  AscendJit jit(one.config());
  const auto key = [&](const deep_jit::ascend::CompilerOptions& options) {
    return jit.cache_key(kAddSource, options);
  };
  CHECK(key({.arch = "2201"}) == key({.arch = "dav-2201"}));
  CHECK(key({.arch = "2201"}) != key({.arch = "3510"}));
  CHECK(key({.optimize_level = 3, .arch = "2201"}) != key({.arch = "2201"}));
  setenv("ASCEND_HOME_PATH", one.toolkit().c_str(), 1);
  AscendJit first(one.config());
  const std::string identity = first.backend.compiler_info({}).identity;
  setenv("ASCEND_HOME_PATH", two.toolkit().c_str(), 1);
  CHECK_EQ(AscendJit(two.config()).backend.compiler_info({}).identity, identity);
  std::ofstream(two.toolkit() / (deep_jit::ascend::SearchPlaces::host_machine() +
                                 "-linux/ascend_toolkit_install.info"))
      << "version=9.1.0\n";
  CHECK(AscendJit(two.config()).backend.compiler_info({}).identity != identity);
}

CHECK_MAIN()
