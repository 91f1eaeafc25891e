// Names of compile targets: what may be asked for, and what a device is called.
//
//   ascend::checked_arch("2201")              // "dav-2201"; throws InvalidArgument for nonsense
//   ascend::arch_of_number(3510)              // "dav-3510", of ACL_DEV_ATTR_NPU_ARCH
//   ascend::arch_of_soc("Ascend910B2")        // "dav-2201": for a CANN without that attribute
//
// Pure. Leaves asking the device to device.hpp and flags to compiler_bisheng.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/str.hpp>

namespace DJ_HIDDEN deep_jit {
namespace ascend {

inline constexpr std::string_view kArchPrefix = "dav-";

// The first match serves. Evidence for each row is in docs/ascend.md.
struct SocRow {
  std::string_view soc_prefix;
  std::string_view arch;
};
inline constexpr SocRow kSocs[] = {
    {"Ascend910B", "dav-2201"},    // Atlas A2
    {"Ascend910_93", "dav-2201"},  // Atlas A3
    {"Ascend950", "dav-3510"},     // 950PR, 950DT
    {"Ascend310P", "dav-2002"},
};

// Accepts "dav-2201" and "2201"; anything that cannot be a target is refused here rather than by a
// compiler's log.
inline std::string checked_arch(std::string_view given) {
  std::string_view number = given;
  if (str::starts_with(number, kArchPrefix)) number.remove_prefix(kArchPrefix.size());
  const bool is_number =
      number.size() == 4 && number.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_number || number[0] == '0') {
    DJ_FAIL(kInvalidArgument,
            "ascend: compile: arch: given '{}'.\n"
            "  Rule TARGET_NAME: a target is dav- and four digits, as --npu-arch takes it.\n"
            "  Fix: use one of dav-2201 (A2, A3), dav-3510 (950), dav-2002 (310P).",
            given);
  }
  return str::format("{}{}", kArchPrefix, number);
}

// Empty where the number says nothing (an older CANN answers 0).
inline std::string arch_of_number(std::int64_t number) {
  if (number < 1000 || number > 9999) return {};
  return str::format("{}{}", kArchPrefix, number);
}

// Empty for a name that is not in the table.
inline std::string arch_of_soc(std::string_view soc) {
  for (const SocRow& row : kSocs)
    if (str::starts_with(soc, row.soc_prefix)) return std::string(row.arch);
  return {};
}

}  // namespace ascend
}  // namespace DJ_HIDDEN deep_jit
