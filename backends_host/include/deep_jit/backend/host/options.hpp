// What a caller may ask of a compile and of a launch on the host.
//
//   host::CompilerOptions options{.arch = "x86-64-v3", .extra_flags = {"-funroll-loops"}};
//   host::LaunchOptions launch{.grid_dim = {n_blocks, m_blocks}, .num_threads = 4};
//   launch = launch.override_with({.grid_dim = 64});   // set fields win
//
// Leaves flags to compiler.hpp and what an arch may be to target.hpp.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <deep_jit/utils/env.hpp>
#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/str.hpp>

namespace DJ_HIDDEN deep_jit {
namespace host {

// Called with the folder of the artifacts once they are complete. Not part of the key: what it
// writes there must follow from the source.
using PostHook = std::function<void(const std::filesystem::path& dir)>;

struct CompilerOptions {
  std::optional<int> optimize_level = std::nullopt;   // 0 .. 3, default 3
  std::optional<std::string> arch = std::nullopt;     // default: what this machine can do
  std::optional<bool> fast_math = std::nullopt;       // default off: results stay reproducible
  std::optional<bool> with_line_info = std::nullopt;  // -g1, for profilers; JIT_WITH_LINEINFO
  std::optional<bool> dump_asm = std::nullopt;        // kernel.s beside the binary; JIT_DUMP_ASM
  std::optional<PostHook> post_hook = std::nullopt;
  std::vector<std::string> extra_flags = {};  // added to the others' flags, never replacing them

  CompilerOptions override_with(const CompilerOptions& other) const {
    CompilerOptions merged = *this;
    if (other.optimize_level) merged.optimize_level = other.optimize_level;
    if (other.arch) merged.arch = other.arch;
    if (other.fast_math) merged.fast_math = other.fast_math;
    if (other.with_line_info) merged.with_line_info = other.with_line_info;
    if (other.dump_asm) merged.dump_asm = other.dump_asm;
    if (other.post_hook) merged.post_hook = other.post_hook;
    merged.extra_flags.insert(merged.extra_flags.end(), other.extra_flags.begin(),
                              other.extra_flags.end());
    return merged;
  }
};

// CompilerOptions with every field settled: option, else environment, else default.
struct CompileSettings {
  int optimize_level = 3;
  bool fast_math = false;
  bool with_line_info = false;
  bool dump_asm = false;
  std::string cpp_standard = "20";
  std::vector<std::string> extra_flags;
};

inline CompileSettings resolve(const CompilerOptions& options, const Env& env) {
  CompileSettings settings;
  settings.optimize_level = options.optimize_level.value_or(3);
  settings.fast_math = options.fast_math.value_or(false);
  settings.with_line_info = options.with_line_info ? *options.with_line_info
                                                   : env.get_or<bool>("JIT_WITH_LINEINFO", false);
  settings.dump_asm =
      options.dump_asm ? *options.dump_asm : env.get_or<bool>("JIT_DUMP_ASM", false);
  settings.cpp_standard = env.get_or<std::string>("JIT_CPP_STANDARD", "20");
  settings.extra_flags = options.extra_flags;
  if (settings.optimize_level < 0 || settings.optimize_level > 3) {
    DJ_FAIL(kInvalidArgument,
            "host: compile: optimize_level: given {}.\n"
            "  Rule OPTION_RANGE: optimize_level lies in 0 .. 3.\n"
            "  Fix: leave it unset for 3.",
            settings.optimize_level);
  }
  return settings;
}

// The text that enters the request key: values alone, one a line. The arch is the target's.
inline std::string key_text(const CompileSettings& settings) {
  std::string text = str::format(
      "optimize_level={}\nfast_math={}\nwith_line_info={}\ndump_asm={}\n", settings.optimize_level,
      settings.fast_math ? 1 : 0, settings.with_line_info ? 1 : 0, settings.dump_asm ? 1 : 0);
  text += str::format("cpp_standard={}\n", settings.cpp_standard);
  for (const auto& flag : settings.extra_flags)
    text += str::format("extra_flag:{}={}\n", flag.size(), flag);
  return text;
}

// Blocks along x, y, z: a number, {x, y} or {x, y, z}.
struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;

  constexpr Dim3() = default;
  template <std::integral X, std::integral Y = int, std::integral Z = int>
  constexpr Dim3(X size_x, Y size_y = 1, Z size_z = 1)
      : x(static_cast<std::uint32_t>(size_x)),
        y(static_cast<std::uint32_t>(size_y)),
        z(static_cast<std::uint32_t>(size_z)) {}
  template <std::integral T>
  constexpr Dim3(const std::array<T, 3>& sizes) : Dim3(sizes[0], sizes[1], sizes[2]) {}

  friend constexpr bool operator==(const Dim3&, const Dim3&) = default;
};

struct LaunchOptions {
  std::optional<Dim3> grid_dim = std::nullopt;              // default one block
  std::optional<std::uint32_t> num_threads = std::nullopt;  // unset or 0: the device's

  LaunchOptions override_with(const LaunchOptions& other) const {
    LaunchOptions merged = *this;
    if (other.grid_dim) merged.grid_dim = other.grid_dim;
    if (other.num_threads) merged.num_threads = other.num_threads;
    return merged;
  }
};

}  // namespace host
}  // namespace DJ_HIDDEN deep_jit
