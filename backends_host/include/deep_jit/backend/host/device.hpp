// The machine itself: threads that may run, sizes of its caches, what its processor can do.
//
//   host::Device device;
//   device.get_num_threads();   // processors that this process may use
//   device.get_arch();          // "x86-64-v3"
//
// Index 0 is the only one. Leaves features to target.hpp and threads to thread_pool.hpp.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>

#include <deep_jit/backend/host/target.hpp>
#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {
namespace host {

namespace detail {

// Processors in the affinity mask; the mask grows until the system accepts it (over 1024 of them).
inline std::uint32_t count_affinity() {
  for (int num_cpus = CPU_SETSIZE; num_cpus <= (1 << 20); num_cpus *= 2) {
    cpu_set_t* set = CPU_ALLOC(num_cpus);
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(num_cpus);
    CPU_ZERO_S(bytes, set);
    const bool is_read = sched_getaffinity(0, bytes, set) == 0;
    const int count = is_read ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (is_read && count > 0) return static_cast<std::uint32_t>(count);
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

// A container's share of processor time, in whole processors; 0 when there is no limit.
inline std::uint32_t count_quota() {
  std::FILE* file = std::fopen("/sys/fs/cgroup/cpu.max", "re");
  if (file == nullptr) return 0;
  long quota = 0, period = 0;
  const bool is_limited = std::fscanf(file, "%ld %ld", &quota, &period) == 2;
  std::fclose(file);
  if (!is_limited || quota <= 0 || period <= 0) return 0;
  return static_cast<std::uint32_t>((quota + period - 1) / period);
}

inline std::size_t cache_bytes(int name, std::size_t otherwise) {
  const long bytes = sysconf(name);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : otherwise;
}

}  // namespace detail

class Device {
 public:
  explicit Device(int index = 0) {
    if (index != 0) {
      DJ_FAIL(kInvalidArgument,
              "host: device: given index {}.\n"
              "  Rule DEVICE_INDEX: the host is one device, index 0.\n"
              "  Fix: use 0.",
              index);
    }
  }
  static int current_index() { return 0; }

  int get_index() const { return 0; }
  std::uint32_t get_num_threads() const { return num_threads_; }
  // "avx512", "avx2", "sse4", "sve", "neon" or "generic": for people and for plans.
  std::string get_isa() const {
    const std::string& target = native_target();
    switch (detail::x86_level(target.substr(0, target.find('+')))) {
      case 4:
        return "avx512";
      case 3:
        return "avx2";
      case 2:
        return "sse4";
      case 1:
        return "sse2";
      default:
        break;
    }
    if (target.find("+sve") != std::string::npos) return "sve";
    return target.substr(0, 3) == "arm" ? "neon" : "generic";
  }
  const std::string& get_arch() const { return native_target(); }
  std::size_t get_l1_bytes() const { return l1_bytes_; }  // data, of one core
  std::size_t get_l2_bytes() const { return l2_bytes_; }  // of one core
  std::size_t get_l3_bytes() const { return l3_bytes_; }  // shared; 0 where there is none

  // Read once a process: affinity and quota are what they were at the first question.
  static std::uint32_t default_num_threads() {
    static const std::uint32_t count = [] {
      const std::uint32_t allowed = detail::count_affinity(), quota = detail::count_quota();
      return quota == 0 ? allowed : std::min(allowed, quota);
    }();
    return count;
  }

 private:
  std::uint32_t num_threads_ = default_num_threads();
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  std::size_t l1_bytes_ = detail::cache_bytes(_SC_LEVEL1_DCACHE_SIZE, std::size_t{32} << 10);
  std::size_t l2_bytes_ = detail::cache_bytes(_SC_LEVEL2_CACHE_SIZE, std::size_t{512} << 10);
  std::size_t l3_bytes_ = detail::cache_bytes(_SC_LEVEL3_CACHE_SIZE, 0);
#else
  std::size_t l1_bytes_ = std::size_t{32} << 10;
  std::size_t l2_bytes_ = std::size_t{512} << 10;
  std::size_t l3_bytes_ = 0;
#endif
};

}  // namespace host
}  // namespace DJ_HIDDEN deep_jit
