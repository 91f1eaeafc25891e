// Makes one chosen system call of the product's file code fail.
//
//   fail_nth(seam_of("write"), 2, ENOSPC);   // the second write from now on
//   ...
//   mend();                                  // everything works again
//   num_calls;                               // how often the seam was reached
//
// Leaves what must still work to the tests.
#pragma once

#include <cerrno>
#include <string_view>

#include <deep_jit/utils/filesystem.hpp>

namespace fault_seams {

using deep_jit::filesystem::Syscalls;
using deep_jit::filesystem::syscalls;

inline const Syscalls real;
inline int error_now = 0;
inline int calls_left = 0;  // 0: nothing fails
inline int num_calls = 0;   // of the seam under test

// The n-th call fails; a call that fails has not happened.
inline bool fails() {
  ++num_calls;
  if (calls_left == 0 || --calls_left != 0) return false;
  errno = error_now;
  return true;
}

struct Seam {
  const char* name;
  void (*install)();
};

inline constexpr Seam kSeams[] = {
    {"open",
     [] {
       syscalls().open = [](const char* p, int flags, mode_t mode) {
         return fails() ? -1 : real.open(p, flags, mode);
       };
     }},
    {"read",
     [] {
       syscalls().read = [](int fd, void* to, size_t n) {
         return fails() ? ssize_t{-1} : real.read(fd, to, n);
       };
     }},
    {"write",
     [] {
       syscalls().write = [](int fd, const void* from, size_t n) {
         return fails() ? ssize_t{-1} : real.write(fd, from, n);
       };
     }},
    // Network file systems report here what writing did not; the descriptor is gone all the same.
    {"close",
     [] {
       syscalls().close = [](int fd) {
         const int result = real.close(fd);
         return fails() ? -1 : result;
       };
     }},
    {"unlink",
     [] { syscalls().unlink = [](const char* p) { return fails() ? -1 : real.unlink(p); }; }},
    {"rmdir",
     [] { syscalls().rmdir = [](const char* p) { return fails() ? -1 : real.rmdir(p); }; }},
    {"flock",
     [] { syscalls().flock = [](int fd, int how) { return fails() ? -1 : real.flock(fd, how); }; }},
    {"stat",
     [] {
       syscalls().stat = [](const char* p, struct stat* s) {
         return fails() ? -1 : real.stat(p, s);
       };
     }},
};

inline const Seam& seam_of(std::string_view name) {
  for (const Seam& seam : kSeams)
    if (name == seam.name) return seam;
  return kSeams[0];
}

// nth 0: none fails, and the calls are counted.
inline void fail_nth(const Seam& seam, int nth, int error) {
  error_now = error;
  calls_left = nth;
  num_calls = 0;
  seam.install();
}

inline void mend() {
  calls_left = 0;
  syscalls() = real;
}

}  // namespace fault_seams
