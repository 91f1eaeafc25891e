// Threads that stay: blocks of a grid are handed out one by one to whoever is free.
//
//   ThreadPool& pool = ThreadPool::shared();
//   pool.run(grid, num_threads, [](const DjHostBlock& block, void* context) { ... }, &context);
//
// The caller always works too, so nested and concurrent launches finish even with no free worker.
// A forked child starts its own workers. The work must not throw: it is another language's C entry.
// Leaves the number of threads to device.hpp and arguments to kernel.hpp.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include <deep_jit/runtime/per_process.hpp>
#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {
namespace host {

// What a kernel learns of its block. Kernel sources declare the same struct for themselves.
struct DjHostBlock {
  std::uint32_t index[3];  // of this block, below grid
  std::uint32_t grid[3];
  std::uint32_t thread;       // below num_threads; one at a time in a launch
  std::uint32_t num_threads;  // at most so many threads work on this launch
};

class ThreadPool {
 public:
  using Work = void (*)(const DjHostBlock& block, void* context);

  static constexpr std::uint32_t kMaxThreads = 1024;

  // One pool a process. Never destroyed: its threads may outlive static objects at exit.
  static ThreadPool& shared() {
    static auto* pools = new deep_jit::detail::PerProcess<ThreadPool>;
    return pools->current();
  }

  ThreadPool() = default;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void run(const std::uint32_t (&grid)[3], std::uint32_t num_threads, Work work, void* context) {
    const std::uint64_t num_blocks = std::uint64_t{grid[0]} * grid[1] * grid[2];
    if (num_threads > kMaxThreads) num_threads = kMaxThreads;
    if (num_threads > num_blocks) num_threads = static_cast<std::uint32_t>(num_blocks);
    if (num_threads == 0) return;
    Job* job = num_threads == 1 ? nullptr : take_slot();
    if (job == nullptr) {
      // Alone, or more launches at once than slots: serial is slower and as right.
      std::atomic<std::uint64_t> next{0};
      work_on(grid, num_blocks, next, 0, num_threads, work, context);
      return;
    }
    grow(num_threads - 1);
    for (int axis = 0; axis < 3; ++axis) job->grid[axis] = grid[axis];
    job->num_blocks = num_blocks;
    job->num_threads = num_threads;
    job->work = work;
    job->context = context;
    job->next.store(0, std::memory_order_relaxed);
    // Ordering: a worker that sees kOpen sees the fields above.
    job->state.store(kOpen | std::uint64_t{num_threads} << kLimitShift | kOneJoined,
                     std::memory_order_release);
    wake(num_threads - 1);
    work_on(grid, num_blocks, job->next, 0, num_threads, work, context);
    close_and_wait(*job);
    job->is_taken.store(false, std::memory_order_release);
  }

  std::uint32_t num_workers() const { return num_workers_.load(std::memory_order_relaxed); }

 private:
  // state: bit 63 open; 48..62 limit of threads; 32..47 threads that ever joined; 0..31 workers
  // inside. Why in one word: a slot is used again, and a worker must not mix two launches.
  static constexpr std::uint64_t kOpen = std::uint64_t{1} << 63;
  static constexpr int kLimitShift = 48;
  static constexpr std::uint64_t kOneJoined = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kInsideMask = kOneJoined - 1;
  static constexpr int kNumSlots = 64;

  struct alignas(64) Job {
    std::atomic<bool> is_taken{false};
    std::atomic<std::uint64_t> state{0};
    std::uint32_t grid[3] = {};
    std::uint32_t num_threads = 0;
    std::uint64_t num_blocks = 0;
    Work work = nullptr;
    void* context = nullptr;
    alignas(64) std::atomic<std::uint64_t> next{0};  // apart: every block writes it
    std::atomic<std::uint32_t> num_closed{0};        // bumped by the last worker to leave
  };

  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  static void work_on(const std::uint32_t (&grid)[3], std::uint64_t num_blocks,
                      std::atomic<std::uint64_t>& next, std::uint32_t thread,
                      std::uint32_t num_threads, Work work, void* context) noexcept {
    DjHostBlock block{{0, 0, 0}, {grid[0], grid[1], grid[2]}, thread, num_threads};
    const std::uint64_t plane = std::uint64_t{grid[0]} * grid[1];
    for (;;) {
      const std::uint64_t at = next.fetch_add(1, std::memory_order_relaxed);
      if (at >= num_blocks) return;
      block.index[2] = static_cast<std::uint32_t>(at / plane);
      const std::uint64_t rest = at % plane;
      block.index[1] = static_cast<std::uint32_t>(rest / grid[0]);
      block.index[0] = static_cast<std::uint32_t>(rest % grid[0]);
      work(block, context);
    }
  }

  Job* take_slot() {
    for (Job& job : jobs_) {
      if (!job.is_taken.load(std::memory_order_relaxed) &&
          !job.is_taken.exchange(true, std::memory_order_acquire))
        return &job;
    }
    return nullptr;
  }

  void grow(std::uint32_t wanted) {
    if (num_workers_.load(std::memory_order_acquire) >= wanted) [[likely]]
      return;
    const std::lock_guard<std::mutex> guard(grow_mutex_);
    // Why: signals belong to the threads of the program, not to ours.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      while (num_workers_.load(std::memory_order_relaxed) < wanted) {
        std::thread([this] { serve(); }).detach();
        num_workers_.fetch_add(1, std::memory_order_release);
      }
    } catch (const std::system_error&) {
      // No more threads to be had: those that exist, and the caller, do the work.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void wake(std::uint32_t wanted) {
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    if (wanted >= num_workers_.load(std::memory_order_relaxed)) {
      epoch_.notify_all();
    } else {
      for (std::uint32_t i = 0; i < wanted; ++i) epoch_.notify_one();
    }
  }

  // Returns the thread's number in the job, or 0 when it is closed or full.
  static std::uint32_t join(Job& job) {
    std::uint64_t state = job.state.load(std::memory_order_acquire);
    for (;;) {
      if ((state & kOpen) == 0) return 0;
      const auto limit = static_cast<std::uint32_t>((state & ~kOpen) >> kLimitShift);
      const auto joined = static_cast<std::uint32_t>(state >> 32) & 0xffffu;
      if (joined >= limit) return 0;
      if (job.state.compare_exchange_weak(state, state + kOneJoined + 1, std::memory_order_acq_rel))
        return joined;
    }
  }

  static void close_and_wait(Job& job) {
    const std::uint64_t state = job.state.fetch_and(~kOpen, std::memory_order_acq_rel);
    if ((state & kInsideMask) == 0) return;
    for (int i = 0; i < kSpins; ++i) {
      if ((job.state.load(std::memory_order_acquire) & kInsideMask) == 0) return;
      pause();
    }
    for (;;) {
      // Ordering: read before the state, so that a worker leaving in between ends the wait.
      const std::uint32_t seen = job.num_closed.load(std::memory_order_acquire);
      if ((job.state.load(std::memory_order_acquire) & kInsideMask) == 0) return;
      job.num_closed.wait(seen, std::memory_order_acquire);
    }
  }

  static void leave(Job& job) {
    const std::uint64_t before = job.state.fetch_sub(1, std::memory_order_acq_rel);
    if ((before & kInsideMask) == 1 && (before & kOpen) == 0) {
      job.num_closed.fetch_add(1, std::memory_order_release);
      job.num_closed.notify_all();
    }
  }

  void serve() noexcept {
    for (;;) {
      const std::uint32_t seen = epoch_.load(std::memory_order_seq_cst);
      bool has_worked = false;
      for (Job& job : jobs_) {
        const std::uint32_t thread = join(job);
        if (thread == 0) continue;
        work_on(job.grid, job.num_blocks, job.next, thread, job.num_threads, job.work, job.context);
        leave(job);
        has_worked = true;
      }
      if (has_worked) continue;
      for (int i = 0; i < kSpins && epoch_.load(std::memory_order_relaxed) == seen; ++i) pause();
      epoch_.wait(seen, std::memory_order_seq_cst);
    }
  }

  // Why: about 20 us, the gap between two launches of one operator; longer steals from the caller.
  static constexpr int kSpins = 500;

  std::array<Job, kNumSlots> jobs_;
  std::atomic<std::uint32_t> epoch_{0};
  std::atomic<std::uint32_t> num_workers_{0};
  std::mutex grow_mutex_;
};

}  // namespace host
}  // namespace DJ_HIDDEN deep_jit
