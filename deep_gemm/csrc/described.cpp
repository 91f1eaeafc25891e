#include <deep_gemm/csrc/described.hpp>

#include <algorithm>

#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_jit/utils/str.hpp>

namespace deep_gemm {
namespace {

// Filled while the library is loaded, by one thread.
std::vector<Family>& families() {
  static auto* const all = new std::vector<Family>();
  return *all;
}

}  // namespace

FamilyRegistration::FamilyRegistration(Family family) { families().push_back(std::move(family)); }

const Family& family_of(std::string_view op) {
  std::vector<std::string_view> known;
  for (const Family& family : families()) {
    if (std::find(family.ops.begin(), family.ops.end(), op) != family.ops.end()) return family;
    known.insert(known.end(), family.ops.begin(), family.ops.end());
  }
  std::sort(known.begin(), known.end());
  refuse(Rule::KnownOp, {"supports", "op", "\"" + std::string(op) + "\""},
         {deep_jit::str::join(known, ", ")});
}

}  // namespace deep_gemm
