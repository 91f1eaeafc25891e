// Many processes, one cache: one compile per key, and no death of a holder stops the rest.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/backends_host/host_fixture.hpp"
#include "tests/support/check.hpp"

namespace {

constexpr int kNumProcesses = 16;

// Forks the processes, opens the gate when all stand at it, and returns how many succeeded.
template <class Body>
int run_together(int num_processes, Body body) {
  int ready[2], gate[2];
  if (pipe(ready) != 0 || pipe(gate) != 0) return -1;
  std::vector<pid_t> children;
  for (int i = 0; i < num_processes; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      char byte = 0;
      close(gate[1]);
      if (write(ready[1], &byte, 1) != 1) _exit(2);
      if (read(gate[0], &byte, 1) != 0) _exit(3);  // end of file is the signal
      bool is_right = false;
      try {
        is_right = body(i);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "process %d: %s\n", i, error.what());
      }
      _exit(is_right ? 0 : 1);
    }
    children.push_back(child);
  }
  for (int i = 0; i < num_processes; ++i) {
    char byte;
    if (read(ready[0], &byte, 1) != 1) return -1;
  }
  for (const int end : {gate[0], gate[1], ready[0], ready[1]}) close(end);
  int num_right = 0;
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) ++num_right;
  }
  return num_right;
}

}  // namespace

TEST(Processes, SixteenOfOneColdKeySucceedAndOneCompiles) {
  const HostDir dir;
  dir.count_compiles();
  CHECK_EQ(run_together(kNumProcesses,
                        [&](int i) {
                          Jit jit(dir.config());
                          return runs_right(jit, jit.compile("k", add_source("k")), i);
                        }),
           kNumProcesses);
  CHECK_EQ(dir.num_runs(), 1);
  CHECK_EQ(dir.num_entries(), 1);
}

TEST(Processes, SixteenKeysAreSixteenCompiles) {
  const HostDir dir;
  dir.count_compiles();
  CHECK_EQ(run_together(kNumProcesses,
                        [&](int i) {
                          Jit jit(dir.config());
                          const std::string name = "k" + std::to_string(i);
                          return runs_right(jit, jit.compile(name, add_source(name)), i);
                        }),
           kNumProcesses);
  CHECK_EQ(dir.num_runs(), kNumProcesses);
  CHECK_EQ(dir.num_entries(), kNumProcesses);
}

TEST(Processes, KilledHolderOfTheLockDoesNotStopTheRest) {
  const HostDir dir;
  // The first compiler to run marks its parent and hangs; the holder is then killed.
  dir.use_compiler("if mkdir '" + (dir.path() / "first").string() +
                   "' 2>/dev/null; then echo $PPID > '" + (dir.path() / "holder.tmp").string() +
                   "'; mv '" + (dir.path() / "holder.tmp").string() + "' '" +
                   (dir.path() / "holder").string() +
                   "'; exec sleep 30; fi\necho run >> \"$LOG\"\nexec g++ \"$@\"");
  const pid_t killer = fork();
  if (killer == 0) {
    for (int i = 0; i < 200; ++i) {
      std::ifstream file(dir.path() / "holder");
      pid_t holder = 0;
      if (file >> holder && holder > 1) {
        kill(holder, SIGKILL);
        _exit(0);
      }
      usleep(50000);
    }
    _exit(1);
  }
  const auto start = std::chrono::steady_clock::now();
  const int num_right = run_together(6, [&](int i) {
    Jit jit(dir.config());
    return runs_right(jit, jit.compile("k", add_source("k")), i);
  });
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
  waitpid(killer, nullptr, 0);
  CHECK_EQ(num_right, 5);
  CHECK_EQ(dir.num_runs(), 1);
  CHECK(seconds.count() < 25);
}

TEST(Processes, HolderThatHangsIsOnlyWaitedForSoLong) {
  const HostDir dir;
  dir.use_compiler("if mkdir '" + (dir.path() / "first").string() +
                   "' 2>/dev/null; then sleep 6; fi\necho run >> \"$LOG\"\nexec g++ \"$@\"");
  setenv("HOSTT_JIT_LOCK_WAIT_MS", "300", 1);
  CHECK_EQ(run_together(2,
                        [&](int i) {
                          Jit jit(dir.config());
                          const auto start = std::chrono::steady_clock::now();
                          const bool is_right =
                              runs_right(jit, jit.compile("k", add_source("k")), i);
                          const auto wait = std::chrono::steady_clock::now() - start;
                          // Whichever did not get the lock is done long before the hanging compiler
                          // is.
                          return is_right &&
                                 (wait > std::chrono::seconds(5) || wait < std::chrono::seconds(4));
                        }),
           2);
  unsetenv("HOSTT_JIT_LOCK_WAIT_MS");
  CHECK_EQ(dir.num_runs(), 2);
}

CHECK_MAIN()
