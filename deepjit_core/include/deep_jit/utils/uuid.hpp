// A name that no other process or thread uses at the same time.
//
//   dir / str::format("stage.{}", get_uuid());   // "1f0c...-4a2b-...", 36 characters
//
// Unique, also after a fork and on shared file systems; not secret. Leaves creating the folder,
// with O_EXCL or mkdir, to filesystem.hpp.
#pragma once

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string>

#include <deep_jit/utils/hash.hpp>
#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {

inline std::string get_uuid() {
  static std::atomic<std::uint64_t> counter{0};
  struct {
    unsigned char random[16];
    std::uint64_t count;
    std::int64_t pid, seconds, nanoseconds;
  } seed = {};
  // Why: process, time and count are mixed in as well, for kernels that have no entropy yet.
  if (getrandom(seed.random, sizeof seed.random, GRND_NONBLOCK) < 0) seed.random[0] = 0;
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  seed.count = counter.fetch_add(1, std::memory_order_relaxed);
  seed.pid = getpid();
  seed.seconds = now.tv_sec;
  seed.nanoseconds = now.tv_nsec;
  std::string hex = sha256_hex({reinterpret_cast<const char*>(&seed), sizeof seed}).substr(0, 32);
  hex[12] = '4';
  for (const std::size_t at : {8u, 13u, 18u, 23u}) hex.insert(at, 1, '-');
  return hex;
}

}  // namespace DJ_HIDDEN deep_jit
