// PerProcess: one state for all threads of a process, a fresh one in a forked child.
#include <deep_jit/runtime/per_process.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <mutex>

#include "tests/support/check.hpp"

struct Guarded {
  std::mutex mutex;
  int value = 0;
};

TEST(PerProcess, ChildStartsFreshEvenWhenTheParentHeldTheLock) {
  deep_jit::detail::PerProcess<Guarded> state;
  state.current().value = 7;
  CHECK_EQ(state.current().value, 7);
  state.current().mutex.lock();
  const pid_t child = fork();
  if (child == 0) {
    const std::lock_guard<std::mutex> guard(state.current().mutex);
    _exit(state.current().value == 0 && &state.current() == &state.current() ? 0 : 1);
  }
  state.current().mutex.unlock();
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK_EQ(state.current().value, 7);
}

CHECK_MAIN()
