// The stack as text, for messages about our own faults.
//
//   std::string where = backtrace_text(/*num_skipped=*/1);   // "" where the C library has no such
//
// Its functions are found at run time, so nothing is linked. Leaves deciding when to print.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {

inline std::string backtrace_text(int num_skipped = 0) {
  const auto collect = reinterpret_cast<int (*)(void**, int)>(dlsym(RTLD_DEFAULT, "backtrace"));
  const auto describe =
      reinterpret_cast<char** (*)(void* const*, int)>(dlsym(RTLD_DEFAULT, "backtrace_symbols"));
  if (collect == nullptr || describe == nullptr) return {};
  void* frames[64];
  const int num_frames = collect(frames, 64);
  char** lines = describe(frames, num_frames);
  if (lines == nullptr) return {};
  std::string text;
  for (int i = num_skipped + 1; i < num_frames; ++i)
    text.append("  ").append(lines[i]).append("\n");
  std::free(lines);
  return text;
}

}  // namespace DJ_HIDDEN deep_jit
