// What every header of ours needs before it can say anything: the visibility of the namespace.
//
//   namespace DJ_HIDDEN deep_jit { ... }
//
// Why: two extensions that embed these headers in one process share the disk, never state. Hidden
// visibility makes function-local statics of inline functions belong to one extension each.
// Leaves assertions to exception.hpp.
#pragma once

#if defined(__GNUC__) || defined(__clang__)
#define DJ_HIDDEN [[gnu::visibility("hidden")]]
#else
#define DJ_HIDDEN
#endif

#define DJ_STATIC_ASSERT(condition, ...) static_assert(condition __VA_OPT__(, ) __VA_ARGS__)
