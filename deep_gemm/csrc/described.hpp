// What each family of operators answers about a described call: whether it is right, how it would
// run. A family is one file, described_<stem>.cpp:
//   const FamilyRegistration registration({.ops = {...}, .keys = {...}, .plan = &plan});
// Leaves the questions (`supports`, `plan`) to control_describe.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <deep_gemm/csrc/ops/describe.hpp>
#include <deep_gemm/csrc/plan/device_traits.hpp>
#include <deep_gemm/csrc/plan/knobs.hpp>
#include <deep_gemm/csrc/source/kernel_source.hpp>

namespace deep_gemm {

struct DescribedPlan {
  std::string line;  // empty: nothing would be launched
  KernelSource source;
};

struct Family {
  std::vector<std::string_view> ops;
  std::vector<std::string_view> keys;  // of a description, beside op, device and arch
  // Applies the checks of a real call and plans it. Throws by rule.
  DescribedPlan (*plan)(const ops::Description& call, const DeviceTraits& traits,
                        const Knobs& knobs);
};

struct FamilyRegistration {
  explicit FamilyRegistration(Family family);
};

// Throws InvalidArgument by rule when no family has that operator.
const Family& family_of(std::string_view op);

}  // namespace deep_gemm
