// Many processes, one cache, one simulated NPU each: one compile per key, right numbers in all.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/backends_ascend/ascend_fixture.hpp"
#include "tests/support/check.hpp"

namespace {

// Each process has a runtime of its own, as ranks have: nothing of ACL is touched before the fork.
template <class Body>
int count_right(int num_processes, const Body& body) {
  std::vector<pid_t> children;
  for (int i = 0; i < num_processes; ++i) {
    const pid_t child = fork();
    if (child == 0) {
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
  int num_right = 0;
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    num_right += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 0;
  }
  return num_right;
}

}  // namespace

TEST(AscendProcesses, OneColdKeyIsCompiledOnceAndRunsRightInAll) {
  const AscendDir dir;
  setenv("SIM_BISHENG_MS", "300", 1);
  CHECK_EQ(count_right(8,
                       [&](int i) {
                         const DeviceStream stream(i % 2);
                         AscendJit jit(dir.config());
                         return adds_right(jit, jit.compile("add", kAddSource), stream, 1 + i);
                       }),
           8);
  CHECK_EQ(dir.num_runs("bisheng"), 1);
}

TEST(AscendProcesses, ThreadsOfManyProcessesShareKeysToo) {
  const AscendDir dir;
  CHECK_EQ(count_right(3,
                       [&](int) {
                         AscendJit jit(dir.config());
                         std::atomic<int> num_right{0};
                         std::vector<std::thread> threads;
                         for (int i = 0; i < 4; ++i) {
                           threads.emplace_back([&, i] {
                             const DeviceStream stream(i % 2);
                             const std::string source =
                                 std::string(kAddSource) + "// " + std::to_string(i % 2) + "\n";
                             if (adds_right(jit, jit.compile("add", source), stream, 2))
                               ++num_right;
                           });
                         }
                         for (std::thread& thread : threads) thread.join();
                         return num_right == 4;
                       }),
           3);
  CHECK_EQ(dir.num_runs("bisheng"), 2);
}

TEST(AscendProcesses, AProcessWhoseRuntimeFailsSaysSoAndTheOthersAreRight) {
  const AscendDir dir;
  AscendJit(dir.config()).compile_without_load("add", kAddSource, {.arch = "2201"});
  CHECK_EQ(count_right(3,
                       [&](int i) {
                         if (i == 1)
                           setenv("ASCEND_SIM_FAIL", "aclrtBinaryGetFunction:1:507000", 1);
                         const DeviceStream stream;
                         AscendJit jit(dir.config());
                         return adds_right(jit, jit.compile("add", kAddSource), stream, 3);
                       }),
           3);  // the entry counted as a miss in one, and was built again
}

TEST(AscendProcesses, AChildForkedAfterTheFirstUseIsToldSo) {
  const AscendDir dir;
  CHECK_EQ(count_right(1,
                       [&](int) {
                         const DeviceStream stream;
                         AscendJit jit(dir.config());
                         const auto kernel = jit.compile("add", kAddSource);
                         return count_right(1, [&](int) {
                                  try {
                                    adds_right(jit, kernel, stream, 1);
                                  } catch (const deep_jit::exception::Exception& error) {
                                    return error.message().find("start workers with spawn") !=
                                           std::string::npos;
                                  }
                                  return false;
                                }) == 1;
                       }),
           1);
}

CHECK_MAIN()
