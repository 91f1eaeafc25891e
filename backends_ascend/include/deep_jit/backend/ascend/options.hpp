// What a caller may ask of a compile and of a launch: one field list each, from which members,
// inheritance, defaults, environment and key text are made.
//
//   ascend::CompilerOptions options{.with_line_info = true, .arch = "dav-2201"};
//   ascend::CompileSettings settings = ascend::resolve(options, env);    // every field has a value
//   ascend::LaunchOptions launch{.grid_dim = 24, .timeout_us = 1000000};
//   launch = launch.override_with({.stream = stream});                   // set fields win
//
// To add a compiler option: one row below, and its flag in compiler_bisheng.hpp.
// Leaves what a target may be to target.hpp.
#pragma once

#include <acl/acl_rt.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <deep_jit/utils/env.hpp>
#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/str.hpp>

namespace DJ_HIDDEN deep_jit {
namespace ascend {

// X(type, name, default, variable that changes the default or nullptr)
#define DJ_ASCEND_COMPILER_OPTIONS(X)                 \
  X(int, optimize_level, 2, nullptr)                  \
  X(bool, enable_simt, false, nullptr)                \
  X(int, stack_bytes, 0, nullptr)                     \
  X(bool, with_line_info, false, "JIT_WITH_LINEINFO") \
  X(bool, dump_asm, false, "JIT_DUMP_ASM")            \
  X(std::string, arch, "", nullptr)                   \
  X(std::string, bisheng_flags, "", nullptr)

// Called with the folder of the artifacts once they are complete and checked. Not part of the key:
// what it writes there must follow from the source.
using PostHook = std::function<void(const std::filesystem::path& dir)>;

// enable_simt is for the 950 alone. stack_bytes 0 leaves the compiler's own size. bisheng_flags
// replaces the language flags, extra_bisheng_flags adds to them.
struct CompilerOptions {
#define DJ_ASCEND_FIELD(type, name, value, variable) std::optional<type> name = std::nullopt;
  DJ_ASCEND_COMPILER_OPTIONS(DJ_ASCEND_FIELD)
#undef DJ_ASCEND_FIELD
  std::optional<PostHook> post_hook = std::nullopt;
  std::string extra_bisheng_flags = {};

  CompilerOptions override_with(const CompilerOptions& other) const {
    CompilerOptions merged = *this;
#define DJ_ASCEND_FIELD(type, name, value, variable) \
  if (other.name) merged.name = other.name;
    DJ_ASCEND_COMPILER_OPTIONS(DJ_ASCEND_FIELD)
#undef DJ_ASCEND_FIELD
    if (other.post_hook) merged.post_hook = other.post_hook;
    if (!other.extra_bisheng_flags.empty()) {
      if (!merged.extra_bisheng_flags.empty()) merged.extra_bisheng_flags += ' ';
      merged.extra_bisheng_flags += other.extra_bisheng_flags;
    }
    return merged;
  }
};

// CompilerOptions with every field settled: option, else environment, else default.
struct CompileSettings {
#define DJ_ASCEND_FIELD(type, name, value, variable) type name = value;
  DJ_ASCEND_COMPILER_OPTIONS(DJ_ASCEND_FIELD)
#undef DJ_ASCEND_FIELD
  bool has_bisheng_flags = false;   // given, even if empty
  std::string cpp_standard = "17";  // what CANN's own kernels are written in
  std::string extra_bisheng_flags;
  PostHook post_hook;
};

namespace detail {

template <class T>
std::optional<T> option_from_env(const Env& env, const char* variable) {
  if (variable == nullptr) return std::nullopt;
  return env.get<T>(variable);
}

inline void check_range(std::string_view name, int given, int highest) {
  if (given >= 0 && given <= highest) return;
  DJ_FAIL(kInvalidArgument,
          "ascend: compile: {}: given {}.\n"
          "  Rule OPTION_RANGE: {} lies in 0 .. {}.\n"
          "  Fix: leave it unset for the default.",
          name, given, name, highest);
}

}  // namespace detail

inline CompileSettings resolve(const CompilerOptions& options, const Env& env) {
  CompileSettings settings;
#define DJ_ASCEND_FIELD(type, name, value, variable)                               \
  if (options.name) {                                                              \
    settings.name = *options.name;                                                 \
  } else if (const auto from_env = detail::option_from_env<type>(env, variable)) { \
    settings.name = *from_env;                                                     \
  }
  DJ_ASCEND_COMPILER_OPTIONS(DJ_ASCEND_FIELD)
#undef DJ_ASCEND_FIELD
  settings.has_bisheng_flags = options.bisheng_flags.has_value();
  settings.cpp_standard = env.get<std::string>("JIT_CPP_STANDARD").value_or("17");
  settings.extra_bisheng_flags = options.extra_bisheng_flags;
  if (options.post_hook) settings.post_hook = *options.post_hook;
  detail::check_range("optimize_level", settings.optimize_level, 3);
  detail::check_range("stack_bytes", settings.stack_bytes, 1 << 20);
  return settings;
}

// The text that enters the request key: values alone, one a line. `arch` is the target's.
inline std::string key_text(const CompileSettings& settings) {
  std::string text;
  const auto add = [&](std::string_view name, const auto& value) {
    if (name != "arch") text += str::format("{}={}\n", name, value);
  };
#define DJ_ASCEND_FIELD(type, name, value, variable) add(#name, settings.name);
  DJ_ASCEND_COMPILER_OPTIONS(DJ_ASCEND_FIELD)
#undef DJ_ASCEND_FIELD
  add("has_bisheng_flags", settings.has_bisheng_flags);
  add("cpp_standard", settings.cpp_standard);
  add("extra_bisheng_flags", settings.extra_bisheng_flags);
  return text;
}

// X(type, name). grid_dim is the number of blocks (default 1), as in the other back ends.
// num_ub_bytes is unified buffer beyond the kernel's own. schedule_together starts all blocks at
// once, which kernels that wait for each other need. use_args_array hands the arguments over by
// address, as cuLaunchKernel does, instead of packed.
#define DJ_ASCEND_LAUNCH_OPTIONS(X) \
  X(aclrtStream, stream)            \
  X(std::int64_t, grid_dim)         \
  X(std::int64_t, num_ub_bytes)     \
  X(std::int64_t, timeout_us)       \
  X(bool, schedule_together)        \
  X(bool, use_args_array)

// An unset stream is torch's current NPU stream of the launch's device, never a default stream: to
// launch on ACL's default stream, set it to nullptr.
struct LaunchOptions {
#define DJ_ASCEND_FIELD(type, name) std::optional<type> name = std::nullopt;
  DJ_ASCEND_LAUNCH_OPTIONS(DJ_ASCEND_FIELD)
#undef DJ_ASCEND_FIELD

  LaunchOptions override_with(const LaunchOptions& other) const {
    LaunchOptions merged = *this;
#define DJ_ASCEND_FIELD(type, name) \
  if (other.name) merged.name = other.name;
    DJ_ASCEND_LAUNCH_OPTIONS(DJ_ASCEND_FIELD)
#undef DJ_ASCEND_FIELD
    return merged;
  }
};

}  // namespace ascend
}  // namespace DJ_HIDDEN deep_jit
