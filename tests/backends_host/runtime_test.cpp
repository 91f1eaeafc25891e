// Runtime<Host> from source text to numbers, warm and cold, whole and damaged.
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/backends_host/host_fixture.hpp"
#include "tests/support/check.hpp"
#include "tests/support/comma_locale.hpp"

static_assert(deep_jit::BackendLike<deep_jit::Host>);

namespace {

// Stderr of `body`, as text.
template <class Body>
std::string stderr_of(const HostDir& dir, Body body) {
  const fs::path file = dir.path() / "stderr.txt";
  std::fflush(stderr);
  const int saved = dup(2);
  std::FILE* sink = std::fopen(file.c_str(), "w");
  dup2(fileno(sink), 2);
  body();
  std::fflush(stderr);
  dup2(saved, 2);
  close(saved);
  std::fclose(sink);
  std::ifstream text(file);
  return std::string((std::istreambuf_iterator<char>(text)), std::istreambuf_iterator<char>());
}

int count(const std::string& text, std::string_view part) {
  int found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++found;
  return found;
}

fs::path only_entry(const HostDir& dir) {
  return fs::directory_iterator(dir.path() / "cache" / "cache")->path();
}

}  // namespace

TEST(HostRuntime, GridsGiveTheRightNumbersOnSeveralThreads) {
  const HostDir dir;
  Jit jit(dir.config());
  const auto kernel = jit.compile(
      "grid", std::string(kBlockText) +
                  "extern \"C\" void grid(const DjHostBlock* b, void* const* args) {\n"
                  "  int* out = *(int**)args[0];\n"
                  "  long at = ((long)b->index[2] * b->grid[1] + b->index[1]) * b->grid[0] + "
                  "b->index[0];\n"
                  "  volatile int spin = 0;\n"
                  "  while (spin < 300000) spin = spin + 1;\n"
                  "  out[at] = (int)at * 3;\n"
                  "  __atomic_fetch_or(*(unsigned**)args[1], 1u << b->thread, __ATOMIC_RELAXED);\n"
                  "}\n");
  std::vector<int> out(4 * 5 * 6, -1);
  int* pointer = out.data();
  unsigned threads = 0;
  unsigned* threads_pointer = &threads;
  jit.launch(kernel, {.grid_dim = deep_jit::host::Dim3(4, 5, 6), .num_threads = 4}, pointer,
             threads_pointer);
  for (int i = 0; i < 120; ++i) CHECK_EQ(out[i], 3 * i);
  CHECK(__builtin_popcount(threads) >= 2);
  CHECK_THROWS(jit.launch(kernel, {.grid_dim = 0}, pointer), kInvalidArgument, "LAUNCH_GRID");
}

TEST(HostRuntime, NoRefPtrPassesItsOwnStorage) {
  const HostDir dir;
  Jit jit(dir.config());
  const auto kernel = jit.compile("k", add_source("k"));
  int out[4] = {}, add = 5;
  int* pointer = out;
  deep_jit::NoRefPtr storage;
  storage.ptr = &pointer;
  jit.launch(kernel, {.grid_dim = 4}, storage, add);
  for (int i = 0; i < 4; ++i) CHECK_EQ(out[i], i + 5);
}

TEST(HostRuntime, HitOnDiskLoadsWithoutSpawningACompiler) {
  const HostDir dir;
  dir.count_compiles();
  Jit cold(dir.config());
  CHECK(runs_right(cold, cold.compile("k", add_source("k")), 1));
  CHECK_EQ(dir.num_runs(), 1);
  Jit warm(dir.config());
  CHECK(runs_right(warm, warm.compile("k", add_source("k")), 2));
  CHECK_EQ(dir.num_runs(), 1);
  CHECK_EQ(warm.events.counters.disk_hits.load(), 1u);
  CHECK_EQ(warm.events.counters.compiles.load(), 0u);
}

TEST(HostRuntime, EveryDamageToEveryFileIsRebuiltWithOneWarning) {
  const HostDir dir;
  {
    Jit(dir.config()).compile("k", add_source("k"));
  }
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator(only_entry(dir)))
    files.push_back(file.path().filename());
  CHECK(files.size() >= 4);
  for (const fs::path& name : files) {
    for (const int damage : {0, 1, 2, 3, 4}) {
      const fs::path file = only_entry(dir) / name;
      const auto bytes = fs::file_size(file);
      if (damage <= 1) fs::resize_file(file, damage == 0 ? 0 : bytes / 2);
      if (damage == 2 && bytes > 0) {
        std::fstream flip(file, std::ios::in | std::ios::out | std::ios::binary);
        flip.seekg(static_cast<long>(bytes / 2));
        const int byte = flip.get();
        flip.seekp(static_cast<long>(bytes / 2));
        flip.put(static_cast<char>(byte ^ 1));
      }
      if (damage == 3) std::ofstream(file) << "text of another kind altogether";
      if (damage == 4) fs::remove(file);
      if (bytes == 0 && damage <= 2) continue;  // an empty log has nothing to lose
      Jit jit(dir.config());
      const std::string said = stderr_of(
          dir, [&] { CHECK(runs_right(jit, jit.compile("k", add_source("k")), damage)); });
      CHECK_EQ(jit.events.counters.compiles.load(), 1u);
      CHECK_EQ(count(said, "warning"), 1);
    }
  }
  Jit whole(dir.config());
  CHECK(runs_right(whole, whole.compile("k", add_source("k")), 8));
  CHECK_EQ(whole.events.counters.compiles.load(), 0u);
}

TEST(HostRuntime, ValidEntryThatTheLoaderRefusesIsRebuilt) {
  const HostDir dir;
  // Built for a name that the source of the second runtime does not have: entry without its symbol.
  dir.use_compiler("printf 'extern \"C\" void nothing() {}\\n' > kernel.cpp; exec g++ \"$@\"");
  CHECK_THROWS(Jit(dir.config()).compile("k", add_source("k")), kToolchain, "KERNEL_NAME");
  dir.count_compiles();
  Jit jit(dir.config());
  CHECK(runs_right(jit, jit.compile("k", add_source("k")), 2));
}

TEST(HostRuntime, CachesThatCannotBeWrittenGiveMemoryOnlyAndOneWarning) {
  const HostDir dir;
  dir.write("a_file", "not a folder");
  for (const std::string& list : {(dir.path() / "a_file").string(), std::string("/proc/none"),
                                  (dir.path() / "a_file/x").string()}) {
    setenv("HOSTT_JIT_CACHE_DIR", list.c_str(), 1);
    Jit jit(dir.config());
    const std::string said = stderr_of(dir, [&] {
      CHECK(runs_right(jit, jit.compile("k", add_source("k")), 1));
      CHECK(runs_right(jit, jit.compile("k2", add_source("k2")), 2));
    });
    CHECK_EQ(count(said, "warning"), 1);
  }
}

TEST(HostRuntime, FullDiskGivesMemoryOnlyAndNoPartialEntry) {
  const HostDir dir;
  const fs::path mount_point = dir.path() / "small";
  fs::create_directories(mount_point);
  if (mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=16k") != 0) {
    std::fprintf(stderr, "skipped: a small tmpfs needs root\n");
    return;
  }
  setenv("HOSTT_JIT_CACHE_DIR", mount_point.c_str(), 1);
  {
    Jit jit(dir.config());
    CHECK(runs_right(jit, jit.compile("k", add_source("k")), 1));
    CHECK_EQ(jit.disk_cache->verify().size(), std::size_t{0});
    mount("", mount_point.c_str(), "", MS_REMOUNT | MS_RDONLY, "");
    Jit second(dir.config());
    CHECK(runs_right(second, second.compile("k", add_source("k")), 2));
  }
  umount2(mount_point.c_str(), MNT_DETACH);
}

TEST(HostRuntime, DiskThatFillsUpDuringACompileIsNoFailure) {
  const HostDir dir;
  const fs::path mount_point = dir.path() / "small";
  fs::create_directories(mount_point);
  if (mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=4m") != 0) {
    std::fprintf(stderr, "skipped: a small tmpfs needs root\n");
    return;
  }
  dir.use_compiler(
      "case $PWD in */small/*) head -c 9000000 /dev/zero > filler || exit 1;; esac\n"
      "exec g++ \"$@\"");
  setenv("HOSTT_JIT_CACHE_DIR", mount_point.c_str(), 1);
  {
    Jit jit(dir.config());
    const std::string said =
        stderr_of(dir, [&] { CHECK(runs_right(jit, jit.compile("k", add_source("k")), 1)); });
    CHECK_EQ(count(said, "warning"), 1);
    CHECK(jit.disk_cache->list().empty());
  }
  umount2(mount_point.c_str(), MNT_DETACH);
}

TEST(HostRuntime, HomeMayBeUnsetOrMissing) {
  const HostDir dir;
  unsetenv("HOSTT_JIT_CACHE_DIR");
  const std::string home = getenv("HOME") == nullptr ? "" : getenv("HOME");
  for (const char* value : {"", "/nonexistent/home"}) {
    if (*value == '\0')
      unsetenv("HOME");
    else
      setenv("HOME", "/proc/nonexistent", 1);
    Jit jit(dir.config());
    CHECK(runs_right(jit, jit.compile("k", add_source("k")), 1));
  }
  setenv("HOME", home.c_str(), 1);
}

TEST(HostRuntime, LocaleWithCommasChangesNoKey) {
  const HostDir dir;
  const std::string key = Jit(dir.config()).cache_key("float x = 1.5f;", {.optimize_level = 2});
  const dj_test::CommaLocale locale;
  if (!locale.is_active()) SKIP(dj_test::CommaLocale::kWhyNot);
  CHECK_EQ(Jit(dir.config()).cache_key("float x = 1.5f;", {.optimize_level = 2}), key);
  Jit jit(dir.config());
  CHECK(runs_right(jit, jit.compile("k", add_source("k")), 1));
}

TEST(HostRuntime, TwentyThreadsOfOneKeyCompileOnce) {
  const HostDir dir;
  dir.count_compiles();
  Jit jit(dir.config());
  std::atomic<int> num_right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&, i] {
      if (runs_right(jit, jit.compile("k", add_source("k")), i)) ++num_right;
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK_EQ(num_right.load(), 20);
  CHECK_EQ(dir.num_runs(), 1);
}

TEST(HostRuntime, ForkAfterUseWorksInTheChild) {
  const HostDir dir;
  Jit jit(dir.config());
  const auto kernel = jit.compile("k", add_source("k"));
  CHECK(runs_right(jit, kernel, 1));
  const pid_t child = fork();
  if (child == 0) {
    const bool is_right = runs_right(jit, kernel, 2) &&
                          runs_right(jit, jit.compile("k", add_source("k")), 3) &&
                          runs_right(jit, jit.compile("k2", add_source("k2")), 4);
    _exit(is_right ? 0 : 1);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(HostRuntime, AnotherMachinesArchCompilesAndDoesNotRun) {
  const HostDir dir;
  Jit jit(dir.config());
#if defined(__x86_64__)
  const std::string far = "x86-64-v4+avx512bf16";
  CHECK(fs::exists(jit.compile_without_load("k", add_source("k"), {.arch = far}) / "kernel.so"));
  if (!deep_jit::host::first_missing(far, deep_jit::host::native_target()).empty())
    CHECK_THROWS(jit.compile("k", add_source("k"), {.arch = far}), kUnsupported, "RUNNABLE_TARGET");
#endif
  CHECK(runs_right(jit, jit.compile("k", add_source("k"), {.arch = "native"}), 1));
  CHECK_THROWS(jit.cache_key("", {.arch = "v3; rm -rf"}), kInvalidArgument, "TARGET_NAME");
}

TEST(HostRuntime, OptionsReachTheCompilerAndTheHook) {
  const HostDir dir;
  Jit jit(dir.config());
  int num_calls = 0;
  const auto entry = jit.compile_without_load(
      "k", add_source("k"),
      {.optimize_level = 1,
       .fast_math = true,
       .with_line_info = true,
       .dump_asm = true,
       .post_hook = [&](const fs::path& at) { num_calls += fs::exists(at / "kernel.so") ? 1 : 0; },
       .extra_flags = {"-DEXTRA=1"}});
  CHECK_EQ(num_calls, 1);
  CHECK(fs::exists(entry / "kernel.s"));
  CHECK_THROWS(jit.compile("k", "", {.optimize_level = 9}), kInvalidArgument, "OPTION_RANGE");
}

CHECK_MAIN()
