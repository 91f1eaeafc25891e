// What a processor can run, as one stable text, and the compiler flags that ask for it.
//
//   host::native_target();                          // "x86-64-v3",
//   "x86-64-v4+avx512vnni+avx512bf16" host::target_flags("x86-64-v4+avx512vnni");     //
//   {"-march=x86-64-v4", "-mavx512vnni"} host::first_missing("x86-64-v4", native_target());   //
//   "x86-64-v4": cannot run here
//
// Read from the processor, not from a compiler: a request key needs none, and two compilers agree
// on it. -march=native is never used, it means another thing on every machine.
// Leaves sizes of caches and counts of threads to device.hpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {
namespace host {

namespace detail {

#if defined(__x86_64__)

struct CpuWord {
  unsigned leaf, subleaf;
  char reg;  // a, b, c, d
};

inline unsigned cpu_word(const CpuWord& word) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(word.leaf, word.subleaf, &a, &b, &c, &d) == 0) return 0;
  return word.reg == 'a' ? a : word.reg == 'b' ? b : word.reg == 'c' ? c : d;
}

inline bool cpu_has(const CpuWord& word, unsigned mask) { return (cpu_word(word) & mask) == mask; }

// Which register states the system saves: a feature that it does not save cannot be used.
inline unsigned long long saved_states() {
  constexpr unsigned kOsxsave = 1u << 27;
  if (!cpu_has({1, 0, 'c'}, kOsxsave)) return 0;
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<unsigned long long>(high) << 32) | low;
}

inline std::string read_native_target() {
  // Bits of the psABI's micro-architecture levels.
  constexpr unsigned kLevel2 =
      (1u << 0) | (1u << 9) | (1u << 13) | (1u << 19) | (1u << 20) | (1u << 23);
  constexpr unsigned kLevel3Leaf1 = (1u << 12) | (1u << 22) | (1u << 28) | (1u << 29);
  constexpr unsigned kLevel3Leaf7 = (1u << 3) | (1u << 5) | (1u << 8);
  constexpr unsigned kLevel4 = (1u << 16) | (1u << 17) | (1u << 28) | (1u << 30) | (1u << 31);
  const unsigned long long saved = saved_states();
  if (!cpu_has({1, 0, 'c'}, kLevel2)) return "x86-64";
  if ((saved & 0x6) != 0x6 || !cpu_has({1, 0, 'c'}, kLevel3Leaf1) ||
      !cpu_has({7, 0, 'b'}, kLevel3Leaf7) || !cpu_has({0x80000001, 0, 'c'}, 1u << 5))
    return "x86-64-v2";
  std::string target = "x86-64-v3";
  if ((saved & 0xe6) != 0xe6 || !cpu_has({7, 0, 'b'}, kLevel4)) {
    if (cpu_has({7, 1, 'a'}, 1u << 4)) target += "+avxvnni";
    return target;
  }
  target = "x86-64-v4";
  // Only what GCC 11 knows too, and what matrix kernels gain from.
  if (cpu_has({7, 0, 'c'}, 1u << 1)) target += "+avx512vbmi";
  if (cpu_has({7, 0, 'c'}, 1u << 11)) target += "+avx512vnni";
  if (cpu_has({7, 1, 'a'}, 1u << 5)) target += "+avx512bf16";
  return target;
}

#elif defined(__aarch64__)

inline std::string read_native_target() {
  const unsigned long hwcap = getauxval(AT_HWCAP), hwcap2 = getauxval(AT_HWCAP2);
  constexpr unsigned long kAtomics = 1ul << 8, kHalf = 1ul << 10, kDot = 1ul << 20,
                          kSve = 1ul << 22;
  constexpr unsigned long kI8mm = 1ul << 13, kBf16 = 1ul << 14;
  if ((hwcap & kAtomics) == 0) return "armv8-a";
  std::string target = "armv8.2-a";
  if ((hwcap & kHalf) != 0) target += "+fp16";
  if ((hwcap & kDot) != 0) target += "+dotprod";
  if ((hwcap & kSve) != 0) target += "+sve";
  if ((hwcap2 & kI8mm) != 0) target += "+i8mm";
  if ((hwcap2 & kBf16) != 0) target += "+bf16";
  return target;
}

#else

inline std::string read_native_target() { return "generic"; }

#endif

inline std::vector<std::string> split_target(std::string_view target) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= target.size();) {
    const std::size_t end = std::min(target.find('+', at), target.size());
    parts.emplace_back(target.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// x86-64 -> 1, x86-64-v3 -> 3, anything else -> 0.
inline int x86_level(std::string_view march) {
  if (march == "x86-64") return 1;
  if (march.size() == 9 && march.substr(0, 8) == "x86-64-v" && march[8] >= '2' && march[8] <= '4')
    return march[8] - '0';
  return 0;
}

}  // namespace detail

inline const std::string& native_target() {
  static const std::string target = detail::read_native_target();
  return target;
}

// "generic" asks for nothing; +features are separate flags on x86, part of -march elsewhere.
inline std::vector<std::string> target_flags(std::string_view target) {
  if (target == "generic") return {};
  const auto parts = detail::split_target(target);
  if (detail::x86_level(parts.front()) == 0) return {"-march=" + std::string(target)};
  std::vector<std::string> flags = {"-march=" + parts.front()};
  for (std::size_t i = 1; i < parts.size(); ++i) flags.push_back("-m" + parts[i]);
  return flags;
}

// What `target` needs and a machine of target `machine` lacks; empty when it can run. A -march name
// that is no x86-64 level ("znver3", "native") is not compared: the caller knows what it is.
inline std::string first_missing(std::string_view target, std::string_view machine) {
  const auto wanted = detail::split_target(target);
  const auto present = detail::split_target(machine);
  const int wanted_level = detail::x86_level(wanted.front());
  if (wanted_level == 0) return {};
  if (wanted_level > detail::x86_level(present.front())) return wanted.front();
  for (std::size_t i = 1; i < wanted.size(); ++i) {
    bool is_present = false;
    for (const auto& feature : present) is_present = is_present || feature == wanted[i];
    if (!is_present) return wanted[i];
  }
  return {};
}

}  // namespace host
}  // namespace DJ_HIDDEN deep_jit
