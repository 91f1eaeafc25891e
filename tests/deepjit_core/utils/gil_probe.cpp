// A library for gil_test.py: sleeps, waits and builds with GilScopedRelease around it.
#include <time.h>

#include <deep_jit/utils/gil.hpp>

extern "C" __attribute__((visibility("default"))) void sleep_without_gil(int milliseconds) {
  const deep_jit::GilScopedRelease without_gil;
  // A second one inside finds nothing to release.
  const deep_jit::GilScopedRelease nested;
  const timespec pause{milliseconds / 1000, milliseconds % 1000 * 1000000L};
  nanosleep(&pause, nullptr);
}
