// The pool: every block once, on several threads, from several launches, after a fork.
#include <deep_jit/backend/host/thread_pool.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/support/check.hpp"

using deep_jit::host::DjHostBlock;
using deep_jit::host::ThreadPool;

static_assert(sizeof(DjHostBlock) == 32 && offsetof(DjHostBlock, grid) == 12 &&
              offsetof(DjHostBlock, thread) == 24 && offsetof(DjHostBlock, num_threads) == 28);

namespace {

struct Seen {
  std::vector<std::atomic<int>> blocks;
  std::atomic<std::uint64_t> threads{0};
  std::atomic<bool> is_sane{true};
  int delay_us = 0;
  explicit Seen(std::size_t count) : blocks(count) {}
};

void note(const DjHostBlock& block, void* context) {
  Seen& seen = *static_cast<Seen*>(context);
  const std::size_t at =
      (std::size_t{block.index[2]} * block.grid[1] + block.index[1]) * block.grid[0] +
      block.index[0];
  if (block.thread >= block.num_threads) seen.is_sane = false;
  seen.threads |= std::uint64_t{1} << block.thread;
  ++seen.blocks[at];
  if (seen.delay_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(seen.delay_us));
}

bool each_once(const Seen& seen) {
  for (const auto& count : seen.blocks)
    if (count != 1) return false;
  return seen.is_sane;
}

bool launch_right(std::uint32_t x, std::uint32_t y, std::uint32_t z, std::uint32_t threads) {
  Seen seen(std::size_t{x} * y * z);
  ThreadPool::shared().run({x, y, z}, threads, note, &seen);
  return each_once(seen);
}

}  // namespace

TEST(ThreadPool, EveryBlockRunsOnceForEveryGrid) {
  for (const std::uint32_t threads : {1u, 2u, 3u, 8u})
    for (const std::uint32_t x : {1u, 7u, 64u})
      for (const std::uint32_t y : {1u, 5u})
        for (const std::uint32_t z : {1u, 3u}) CHECK(launch_right(x, y, z, threads));
}

TEST(ThreadPool, SeveralThreadsTakePart) {
  Seen seen(40);
  seen.delay_us = 2000;
  ThreadPool::shared().run({40, 1, 1}, 4, note, &seen);
  CHECK(each_once(seen));
  CHECK(__builtin_popcountll(seen.threads) >= 2);
  CHECK(seen.threads.load() < 16u);
}

TEST(ThreadPool, BlocksOfOneThreadNeverOverlap) {
  struct Busy {
    std::atomic<bool> inside[4] = {};
    std::atomic<bool> has_overlap{false};
  } busy;
  for (int i = 0; i < 500; ++i) {
    ThreadPool::shared().run(
        {32, 1, 1}, 4,
        [](const DjHostBlock& block, void* context) {
          Busy& state = *static_cast<Busy*>(context);
          if (state.inside[block.thread].exchange(true)) state.has_overlap = true;
          state.inside[block.thread] = false;
        },
        &busy);
  }
  CHECK(!busy.has_overlap.load());
}

TEST(ThreadPool, ManyShortLaunchesFromManyThreadsAllFinish) {
  std::atomic<int> num_wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < 400; ++j)
        if (!launch_right(1 + j % 9, 1 + i % 3, 1, 1 + j % 5)) ++num_wrong;
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK_EQ(num_wrong.load(), 0);
}

TEST(ThreadPool, LaunchesInsideBlocksFinish) {
  std::atomic<int> num_right{0};
  ThreadPool::shared().run(
      {8, 1, 1}, 4,
      [](const DjHostBlock&, void* context) {
        if (launch_right(16, 1, 1, 4)) ++*static_cast<std::atomic<int>*>(context);
      },
      &num_right);
  CHECK_EQ(num_right.load(), 8);
}

TEST(ThreadPool, ForkedChildHasWorkersOfItsOwn) {
  CHECK(launch_right(32, 1, 1, 3));
  const pid_t child = fork();
  if (child == 0) {
    Seen seen(40);
    seen.delay_us = 2000;
    ThreadPool::shared().run({40, 1, 1}, 3, note, &seen);
    _exit(each_once(seen) && __builtin_popcountll(seen.threads) >= 2 ? 0 : 1);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(launch_right(32, 1, 1, 3));
}

TEST(ThreadPool, EmptyGridDoesNothing) {
  CHECK(launch_right(0, 1, 1, 4));
  CHECK(launch_right(4, 0, 1, 4));
}

CHECK_MAIN()
