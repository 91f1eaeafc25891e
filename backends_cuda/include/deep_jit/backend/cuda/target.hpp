// Names of compile targets: what may be asked for, and what a device gets from a compiler that may
// not know its family.
//
//   cuda::checked_arch("sm_90a")                            // "90a"; throws InvalidArgument
//   cuda::device_arch(9, 0, knows)                          // "90a"
//   cuda::device_arch(10, 3, knows)                         // "100f", or "103a" of a 12.8 compiler
//
// Pure: the compiler is asked through the callback. Leaves which compiler to compiler_choice.hpp.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include <deep_jit/backend/cuda/device.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cuda {

inline constexpr const char* kTestedTargets = "80, 86, 89, 90a, 100a, 100f, 103, 103a, 120, 120a";

// Accepts "90a", "sm_90a", "compute_90a"; anything that cannot be a target is refused here rather
// than by a compiler's log.
inline std::string checked_arch(std::string_view given) {
  std::string_view arch = given;
  for (const std::string_view prefix : {"sm_", "compute_"})
    if (arch.substr(0, prefix.size()) == prefix) arch.remove_prefix(prefix.size());
  const std::size_t digits = std::min(arch.find_first_not_of("0123456789"), arch.size());
  const std::string_view suffix = arch.substr(digits);
  const bool is_shaped = (digits == 2 || digits == 3) && arch[0] != '0' &&
                         (suffix.empty() || suffix == "a" || suffix == "f");
  const int number = is_shaped ? std::atoi(std::string(arch.substr(0, digits)).c_str()) : 0;
  // Suffixes exist from 9.0 on, family targets from 10.0 on.
  const bool is_named =
      number >= 75 && (suffix != "a" || number >= 90) && (suffix != "f" || number >= 100);
  if (!is_named) {
    DJ_FAIL(kInvalidArgument,
            "cuda: compile: arch: given '{}'.\n"
            "  Rule TARGET_NAME: a target is two or three digits and, from 90 on, 'a' (this chip) "
            "or, from 100 on, 'f' (its family).\n"
            "  Fix: use one of {}.",
            given, kTestedTargets);
  }
  return std::string(arch);
}

// Whether a device can load a cubin of this target: its own, its family's, or a plain one of the
// same major and no newer minor.
inline bool can_run(std::string_view arch, int major, int minor) {
  const std::size_t digits = std::min(arch.find_first_not_of("0123456789"), arch.size());
  const int number = std::atoi(std::string(arch.substr(0, digits)).c_str());
  const bool is_same_major = number / 10 == major;
  if (arch.substr(digits) == "a") return is_same_major && number % 10 == minor;
  return is_same_major && number % 10 <= minor;
}

// The family target where the compiler knows it, the exact one where it does not, and the plain
// one where it knows neither. `knows` is asked only where there is a choice.
template <class Knows>
std::string device_arch(int major, int minor, const Knows& knows) {
  const std::string family = arch_name(major, minor, true);
  if (major < 10 || knows(family)) return family;
  const std::string exact = arch_name(major, minor, false);
  if (knows(exact)) return exact;
  const std::string plain = arch_name(major, minor, false, true);
  return knows(plain) ? plain : family;  // none known: let the compiler's error name the family
}

}  // namespace cuda
}  // namespace DJ_HIDDEN deep_jit
