// Several processes share one cache: races on publish and on the lock, and the death of a holder.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <deep_jit/cache/disk.hpp>

#include "tests/deepjit_core/cache/disk_fixture.hpp"
#include "tests/support/check.hpp"

using deep_jit::DiskCache;
using namespace std::chrono_literals;

namespace {

template <class Body>
pid_t start(Body&& body) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  _exit(body());
}

int wait_for(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

TEST(DiskCacheProcesses, SixteenPublishersAllHaveTheirBytesAndOneEntryRemains) {
  TempDir dir;
  std::vector<pid_t> pids;
  int gate[2];
  CHECK_EQ(pipe(gate), 0);
  for (int i = 0; i < 16; ++i) {
    pids.push_back(start([&] {
      close(gate[1]);
      char byte;
      if (read(gate[0], &byte, 1) < 0) return 9;
      Warnings warnings;
      DiskCache cache(options_of(dir / "c", warnings));
      const std::string bytes = "image " + std::to_string(i);
      const auto entry = build(cache, "k", "r1", bytes);
      if (deep_jit::filesystem::read_file(entry.dir / "kernel.so") != bytes) return 1;
      if (!cache.find("k", "r1", {})) return 2;
      return warnings.empty() ? 0 : 3;
    }));
  }
  close(gate[1]);
  for (const pid_t pid : pids) CHECK_EQ(wait_for(pid), 0);
  close(gate[0]);
  CHECK_EQ(deep_jit::filesystem::list_dir(dir / "c" / "cache").size(), 1);
  CHECK(deep_jit::filesystem::list_dir(dir / "c" / "tmp").empty());
}

TEST(DiskCacheProcesses, OneOfEightBuildsUnderTheLock) {
  TempDir dir;
  std::vector<pid_t> pids;
  for (int i = 0; i < 8; ++i) {
    pids.push_back(start([&] {
      Warnings warnings;
      DiskCache cache(options_of(dir / "c", warnings));
      const auto lock = cache.lock("k", "r1", 20s);
      if (!lock.is_held()) return 99;
      if (cache.find("k", "r1", {})) return 0;
      usleep(20000);
      build(cache, "k", "r1");
      return 1;
    }));
  }
  int num_builds = 0;
  for (const pid_t pid : pids) num_builds += wait_for(pid);
  CHECK_EQ(num_builds, 1);
}

TEST(DiskCacheProcesses, LockOfAKilledHolderIsFreeAndOfALiveOneIsBounded) {
  TempDir dir;
  Warnings warnings;
  DiskCache cache(options_of(dir / "c", warnings));
  int ready[2];
  CHECK_EQ(pipe(ready), 0);
  const pid_t holder = start([&] {
    const auto lock = cache.lock("k", "r1", 1s);
    if (write(ready[1], lock.is_held() ? "y" : "n", 1) != 1) return 1;
    pause();
    return 0;
  });
  char is_held = 0;
  CHECK_EQ(read(ready[0], &is_held, 1), 1);
  CHECK_EQ(is_held, 'y');
  const auto begin = std::chrono::steady_clock::now();
  CHECK(!cache.lock("k", "r1", 100ms).is_held());
  const auto waited = std::chrono::steady_clock::now() - begin;
  CHECK(waited >= 100ms && waited < 5s);
  CHECK(cache.lock("k", "r2", 0ms).is_held());
  kill(holder, SIGKILL);
  CHECK(cache.lock("k", "r1", 10s).is_held());
  CHECK_EQ(wait_for(holder), -SIGKILL);
  close(ready[0]);
  close(ready[1]);
}

TEST(DiskCacheProcesses, KilledBuilderLeavesNoEntry) {
  TempDir dir;
  Warnings warnings;
  DiskCache cache(options_of(dir / "c", warnings));
  CHECK_EQ(wait_for(start([&] {
             auto staging = cache.stage("k");
             write(staging.dir() / "kernel.so", "half");
             kill(getpid(), SIGKILL);
             return 0;
           })),
           -SIGKILL);
  CHECK(!cache.find("k", "r1", {}));
  CHECK(!build(cache, "k", "r1").ephemeral);
}

TEST(DiskCacheProcesses, ForkedChildDoesNotRemoveItsParentsFolder) {
  TempDir dir;
  Warnings warnings;
  DiskCache cache(options_of(dir / "c", warnings));
  auto staging = std::make_unique<deep_jit::Staging>(cache.stage("k"));
  CHECK_EQ(wait_for(start([&] {
             staging.reset();
             return 0;
           })),
           0);
  CHECK(std::filesystem::exists(staging->dir()));
}

CHECK_MAIN()
