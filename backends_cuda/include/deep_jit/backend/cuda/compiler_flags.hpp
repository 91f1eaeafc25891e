// Settings -> flags, for both compilers, and which of a user's nvcc flags NVRTC can take.
//
//   cuda::nvcc_arguments(settings, "90a")    // {"-std=c++20", "-O3", ..., "-gencode=..."}
//   cuda::nvrtc_arguments(settings, "90a")   // {"-std=c++20", "-arch=sm_90a", ...}
//
// Pure text: no file, no environment. Include folders are added by the compilers, since paths are
// no part of a build's identity. Leaves defaults and their names to options.hpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <deep_jit/backend/cuda/options.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cuda {

// Splits at white space outside quotes, as a shell would, without being one: no expansion.
inline std::vector<std::string> split_flags(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      open = true;
    } else if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
      open = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (open) words.push_back(std::move(word));
      word.clear();
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (quote != 0) {
    DJ_FAIL(kInvalidArgument,
            "cuda: compile: nvcc_flags: given {}.\n"
            "  Rule FLAG_QUOTES: every quote is closed.\n"
            "  Fix: close the {} quote.",
            text, quote == '"' ? "double" : "single");
  }
  if (open) words.push_back(std::move(word));
  return words;
}

namespace detail {

// What ptxas is asked under either compiler. -v is always on: registers and spills of every kernel
// stand in its log and cost nothing.
inline void add_ptxas_options(std::vector<std::string>& flags, const CompileSettings& settings) {
  flags.push_back("--ptxas-options=-v");
  flags.push_back(str::format("--ptxas-options=-O{}", settings.optimize_level));
  flags.push_back(str::format("--ptxas-options=--register-usage-level={}",
                              settings.ptxas_register_usage_level));
}

// nvcc flags about the host half of a compile, which NVRTC does not have. `takes_value`: the next
// word belongs to the flag when it is not joined by '='.
struct HostFlag {
  std::string_view name;
  bool takes_value;
};
inline constexpr HostFlag kHostFlags[] = {
    {"--expt-relaxed-constexpr", false},  // -default-device does more
    {"-expt-relaxed-constexpr", false},
    {"--expt-extended-lambda", false},
    {"-expt-extended-lambda", false},
    {"--extended-lambda", false},
    {"-extended-lambda", false},
    {"-Xcompiler", true},
    {"--compiler-options", true},
    {"-ccbin", true},
    {"--compiler-bindir", true},
    {"-cubin", false},
    {"--cubin", false},
    {"-O0", false},
    {"-O1", false},
    {"-O2", false},
    {"-O3", false},
    {"--threads", true},
    {"-t", true},
    {"-x", true},
};

// Why: structs shared with the host assert their offsets, and NVRTC alone lacks the builtin.
// __INTADDR__ is what its front end offers for it: a constant expression.
inline constexpr const char* kNvrtcOffsetof =
    "-D__builtin_offsetof(type,member)=((unsigned long)__INTADDR__(&((type*)0)->member))";

}  // namespace detail

// A user's nvcc flags as NVRTC takes them: host-only ones go, the two-word forms of options that
// NVRTC wants joined are joined. Whatever NVRTC still does not know, it names in its error.
inline std::vector<std::string> nvrtc_flags_of_nvcc_flags(const std::vector<std::string>& flags) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const std::string_view flag = flags[i];
    const std::string_view name = flag.substr(0, flag.find('='));
    bool is_host = false;
    for (const detail::HostFlag& host : detail::kHostFlags) {
      if (name != host.name) continue;
      is_host = true;
      if (host.takes_value && name.size() == flag.size()) ++i;
      break;
    }
    if (is_host) continue;
    if ((flag == "-Xptxas" || flag == "--ptxas-options") && i + 1 < flags.size()) {
      // nvcc splits a list at commas, NVRTC hands it over whole.
      const std::string& list = flags[++i];
      for (std::size_t at = 0; at <= list.size();) {
        const std::size_t end = std::min(list.find(',', at), list.size());
        if (end > at) kept.push_back("--ptxas-options=" + list.substr(at, end - at));
        at = end + 1;
      }
    } else {
      kept.emplace_back(flag);
    }
  }
  return kept;
}

inline std::vector<std::string> nvcc_arguments(const CompileSettings& settings,
                                               std::string_view arch) {
  std::vector<std::string> flags;
  if (settings.has_nvcc_flags) {
    flags = split_flags(settings.nvcc_flags);
  } else {
    flags = {"-std=c++" + settings.cpp_standard, str::format("-O{}", settings.optimize_level),
             "--expt-relaxed-constexpr", "--expt-extended-lambda"};
  }
  detail::add_ptxas_options(flags, settings);
  if (settings.fast_math) flags.push_back("--use_fast_math");
  if (settings.with_line_info) flags.push_back("-lineinfo");
  for (std::string& flag : split_flags(settings.extra_nvcc_flags)) flags.push_back(std::move(flag));
  // Why -gencode: the -arch shorthand of some releases adds a plain pass that refuses 90a code.
  flags.push_back(str::format("-gencode=arch=compute_{},code=sm_{}", arch, arch));
  return flags;
}

inline std::vector<std::string> nvrtc_arguments(const CompileSettings& settings,
                                                std::string_view arch) {
  std::vector<std::string> flags;
  if (settings.has_nvcc_flags) {
    flags = nvrtc_flags_of_nvcc_flags(split_flags(settings.nvcc_flags));
  } else {
    flags = {"-std=c++" + settings.cpp_standard};
  }
  // The counterpart of relaxed constexpr and extended lambdas.
  flags.push_back("-default-device");
  flags.push_back(detail::kNvrtcOffsetof);
  detail::add_ptxas_options(flags, settings);
  if (settings.fast_math) flags.push_back("--use_fast_math");
  if (settings.with_line_info) flags.push_back("-lineinfo");
  for (std::string& flag : nvrtc_flags_of_nvcc_flags(split_flags(settings.extra_nvcc_flags)))
    flags.push_back(std::move(flag));
  flags.push_back(str::format("-arch=sm_{}", arch));
  return flags;
}

}  // namespace cuda
}  // namespace DJ_HIDDEN deep_jit
