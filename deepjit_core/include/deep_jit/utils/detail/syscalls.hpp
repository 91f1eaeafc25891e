// The one seam between our file code and the kernel: every call is a pointer that tests replace.
//
//   filesystem::syscalls().rename = [](const char*, const char*) { errno = EROFS; return -1; };
//
// Leaves meaning to filesystem.hpp. Replacing is for tests: it is not synchronised.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdio>

#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {
namespace filesystem {

struct Syscalls {
  int (*open)(const char*, int, mode_t) = [](const char* path, int flags, mode_t mode) {
    return ::open(path, flags, mode);
  };
  int (*close)(int) = [](int fd) { return ::close(fd); };
  ssize_t (*read)(int, void*, size_t) = [](int fd, void* to, size_t n) {
    return ::read(fd, to, n);
  };
  ssize_t (*write)(int, const void*, size_t) = [](int fd, const void* from, size_t n) {
    return ::write(fd, from, n);
  };
  int (*fsync)(int) = [](int fd) { return ::fsync(fd); };
  int (*rename)(const char*, const char*) = [](const char* a, const char* b) {
    return std::rename(a, b);
  };
  int (*mkdir)(const char*, mode_t) = [](const char* path, mode_t mode) {
    return ::mkdir(path, mode);
  };
  int (*unlink)(const char*) = [](const char* path) { return ::unlink(path); };
  int (*rmdir)(const char*) = [](const char* path) { return ::rmdir(path); };
  int (*chmod)(const char*, mode_t) = [](const char* path, mode_t mode) {
    return ::chmod(path, mode);
  };
  int (*stat)(const char*, struct stat*) = [](const char* path, struct stat* to) {
    return ::stat(path, to);
  };
  int (*lstat)(const char*, struct stat*) = [](const char* path, struct stat* to) {
    return ::lstat(path, to);
  };
  int (*fstat)(int, struct stat*) = [](int fd, struct stat* to) { return ::fstat(fd, to); };
  int (*statvfs)(const char*, struct statvfs*) = [](const char* path, struct statvfs* to) {
    return ::statvfs(path, to);
  };
  int (*flock)(int, int) = [](int fd, int operation) { return ::flock(fd, operation); };
};

inline Syscalls& syscalls() {
  static Syscalls table;
  return table;
}

}  // namespace filesystem
}  // namespace DJ_HIDDEN deep_jit
