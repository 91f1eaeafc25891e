// What a caller may ask of a compile and of a launch: one field list each, from which members,
// inheritance, defaults, environment and key text are made.
//
//   cuda::CompilerOptions options{.with_line_info = true, .arch = "90a"};
//   cuda::CompileSettings settings = cuda::resolve(options, env);        // every field has a value
//   cuda::LaunchOptions launch{.num_smem_bytes = 4096, .grid_dim = 132, .block_dim = {32, 4}};
//   launch = launch.override_with({.stream = stream});                   // set fields win
//
// To add a compiler option: one row below, and its flag in compiler_flags.hpp.
// Leaves flags to compiler_flags.hpp, and what a target may be to backend.hpp.
#pragma once

#include <array>
#include <concepts>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <deep_jit/backend/cuda/driver.hpp>
#include <deep_jit/utils/env.hpp>
#include <deep_jit/utils/str.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cuda {

// X(type, name, default, variable that changes the default or nullptr)
#define DJ_CUDA_COMPILER_OPTIONS(X)                                  \
  X(int, optimize_level, 3, nullptr)                                 \
  X(bool, fast_math, false, nullptr)                                 \
  X(bool, ptxas_verbose, false, "JIT_PTXAS_VERBOSE")                 \
  X(int, ptxas_register_usage_level, 10, nullptr)                    \
  X(bool, check_no_spills, false, "JIT_CHECK_NO_SPILLS")             \
  X(bool, check_no_local_memory, false, "JIT_CHECK_NO_LOCAL_MEMORY") \
  X(bool, with_line_info, false, "JIT_WITH_LINEINFO")                \
  X(bool, dump_ptx, false, "JIT_DUMP_PTX")                           \
  X(bool, dump_sass, false, "JIT_DUMP_SASS")                         \
  X(std::string, arch, "", nullptr)                                  \
  X(std::string, nvcc_flags, "", nullptr)

// Called with the folder of the artifacts once they are complete and checked. Not part of the key:
// what it writes there must follow from the source.
using PostHook = std::function<void(const std::filesystem::path& dir)>;

struct CompilerOptions {
#define DJ_CUDA_FIELD(type, name, value, variable) std::optional<type> name = std::nullopt;
  DJ_CUDA_COMPILER_OPTIONS(DJ_CUDA_FIELD)
#undef DJ_CUDA_FIELD
  std::optional<PostHook> post_hook = std::nullopt;
  std::string extra_nvcc_flags = {};  // added to the others' flags, never replacing them

  CompilerOptions override_with(const CompilerOptions& other) const {
    CompilerOptions merged = *this;
#define DJ_CUDA_FIELD(type, name, value, variable) \
  if (other.name) merged.name = other.name;
    DJ_CUDA_COMPILER_OPTIONS(DJ_CUDA_FIELD)
#undef DJ_CUDA_FIELD
    if (other.post_hook) merged.post_hook = other.post_hook;
    if (!other.extra_nvcc_flags.empty()) {
      if (!merged.extra_nvcc_flags.empty()) merged.extra_nvcc_flags += ' ';
      merged.extra_nvcc_flags += other.extra_nvcc_flags;
    }
    return merged;
  }
};

// CompilerOptions with every field settled: option, else environment, else default.
struct CompileSettings {
#define DJ_CUDA_FIELD(type, name, value, variable) type name = value;
  DJ_CUDA_COMPILER_OPTIONS(DJ_CUDA_FIELD)
#undef DJ_CUDA_FIELD
  bool has_nvcc_flags = false;  // given, even if empty: the default language flags are replaced
  std::string cpp_standard = "20";
  std::string extra_nvcc_flags;
  PostHook post_hook;
};

namespace detail {

template <class T>
std::optional<T> option_from_env(const Env& env, const char* variable) {
  if (variable == nullptr) return std::nullopt;
  return env.get<T>(variable);
}

}  // namespace detail

inline CompileSettings resolve(const CompilerOptions& options, const Env& env) {
  CompileSettings settings;
  // JIT_DUMP_ASM is both dumps; the single variables win over it.
  if (const auto both = env.get<bool>("JIT_DUMP_ASM"))
    settings.dump_ptx = settings.dump_sass = *both;
#define DJ_CUDA_FIELD(type, name, value, variable)                                 \
  if (options.name) {                                                              \
    settings.name = *options.name;                                                 \
  } else if (const auto from_env = detail::option_from_env<type>(env, variable)) { \
    settings.name = *from_env;                                                     \
  }
  DJ_CUDA_COMPILER_OPTIONS(DJ_CUDA_FIELD)
#undef DJ_CUDA_FIELD
  settings.has_nvcc_flags = options.nvcc_flags.has_value();
  settings.cpp_standard = env.get<std::string>("JIT_CPP_STANDARD").value_or("20");
  settings.extra_nvcc_flags = options.extra_nvcc_flags;
  if (options.post_hook) settings.post_hook = *options.post_hook;
  const auto check_level = [](std::string_view name, int given, int highest) {
    if (given >= 0 && given <= highest) return;
    DJ_FAIL(kInvalidArgument,
            "cuda: compile: {}: given {}.\n"
            "  Rule OPTION_RANGE: {} lies in 0 .. {}.\n"
            "  Fix: leave it unset for the default.",
            name, given, name, highest);
  };
  check_level("optimize_level", settings.optimize_level, 3);
  check_level("ptxas_register_usage_level", settings.ptxas_register_usage_level, 10);
  return settings;
}

// The text that enters the request key: values alone, one a line. `arch` is the target's.
inline std::string key_text(const CompileSettings& settings) {
  std::string text;
  const auto add = [&](std::string_view name, const auto& value) {
    if (name != "arch") text += str::format("{}={}\n", name, value);
  };
#define DJ_CUDA_FIELD(type, name, value, variable) add(#name, settings.name);
  DJ_CUDA_COMPILER_OPTIONS(DJ_CUDA_FIELD)
#undef DJ_CUDA_FIELD
  add("has_nvcc_flags", settings.has_nvcc_flags);
  add("cpp_standard", settings.cpp_standard);
  add("extra_nvcc_flags", settings.extra_nvcc_flags);
  return text;
}

// Sizes of a grid, a block or a cluster. Takes a number, {x, y}, {x, y, z}, a pair, a tuple, an
// array or anything with x, y and z (CUDA's dim3).
struct Dim3 {
  unsigned x = 1, y = 1, z = 1;

  constexpr Dim3() = default;
  template <std::integral X, std::integral Y = int, std::integral Z = int>
  constexpr Dim3(X size_x, Y size_y = 1, Z size_z = 1)
      : x(static_cast<unsigned>(size_x)),
        y(static_cast<unsigned>(size_y)),
        z(static_cast<unsigned>(size_z)) {}
  template <std::integral X, std::integral Y>
  constexpr Dim3(const std::pair<X, Y>& sizes) : Dim3(sizes.first, sizes.second) {}
  template <std::integral X, std::integral Y, std::integral Z>
  constexpr Dim3(const std::tuple<X, Y, Z>& sizes)
      : Dim3(std::get<0>(sizes), std::get<1>(sizes), std::get<2>(sizes)) {}
  template <std::integral T>
  constexpr Dim3(const std::array<T, 3>& sizes) : Dim3(sizes[0], sizes[1], sizes[2]) {}
  template <class T>
    requires requires(const T& sizes) { sizes.x, sizes.y, sizes.z; }
  constexpr Dim3(const T& sizes) : Dim3(sizes.x, sizes.y, sizes.z) {}

  constexpr std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  friend constexpr bool operator==(const Dim3&, const Dim3&) = default;
};

inline std::string describe(const Dim3& dim) {
  return str::format("({}, {}, {})", dim.x, dim.y, dim.z);
}

// std::optional<Dim3> that also takes {x, y} and {x, y, z} in a designated initialiser.
class OptionalDim3 : public std::optional<Dim3> {
 public:
  using std::optional<Dim3>::optional;
  template <std::integral X, std::integral Y, std::integral Z = int>
  OptionalDim3(X size_x, Y size_y, Z size_z = 1)
      : std::optional<Dim3>(Dim3(size_x, size_y, size_z)) {}
};

// X(type of the optional, name)
#define DJ_CUDA_LAUNCH_OPTIONS(X)       \
  X(std::optional<CUstream>, stream)    \
  X(std::optional<int>, num_smem_bytes) \
  X(OptionalDim3, grid_dim)             \
  X(OptionalDim3, block_dim)            \
  X(OptionalDim3, cluster_dim)          \
  X(std::optional<bool>, cooperative)   \
  X(std::optional<bool>, enable_pdl)    \
  X(std::optional<bool>, nonportable_cluster_size_allowed)

// An unset stream is torch's current stream of the launch's device, never stream 0: to launch on
// stream 0, set it to nullptr.
struct LaunchOptions {
#define DJ_CUDA_FIELD(type, name) type name = std::nullopt;
  DJ_CUDA_LAUNCH_OPTIONS(DJ_CUDA_FIELD)
#undef DJ_CUDA_FIELD

  LaunchOptions override_with(const LaunchOptions& other) const {
    LaunchOptions merged = *this;
#define DJ_CUDA_FIELD(type, name) \
  if (other.name) merged.name = other.name;
    DJ_CUDA_LAUNCH_OPTIONS(DJ_CUDA_FIELD)
#undef DJ_CUDA_FIELD
    return merged;
  }
};

}  // namespace cuda
}  // namespace DJ_HIDDEN deep_jit
