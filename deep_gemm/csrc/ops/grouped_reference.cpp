#include <deep_gemm/csrc/ops/grouped_reference.hpp>

#include <torch/csrc/stable/stableivalue_conversions.h>

#include <deep_gemm/csrc/launch/jit.hpp>
#include <deep_gemm/csrc/ops/reference_call.hpp>
#include <deep_gemm/csrc/utils/registry.hpp>
#include <deep_jit/utils/exception.hpp>

namespace deep_gemm::ops {
namespace {

using torch::stable::detail::from;

std::optional<Tensor> optional_of(const Arg* arg) {
  return arg == nullptr ? std::nullopt : std::optional<Tensor>(*arg->tensor);
}

}  // namespace

void call_grouped_reference(std::string_view op, const GroupedProblem& p, const GroupedArgs& t,
                            double alpha) {
  warn_of_reference();
  std::vector<StableIValue> stack;
  stack.push_back(from(*t.a.tensor));
  stack.push_back(from(optional_of(t.a_scale)));
  stack.push_back(from(*t.b.tensor));
  stack.push_back(from(optional_of(t.b_scale)));
  stack.push_back(from(*t.d.tensor));
  if (p.is_along_k()) stack.push_back(from(optional_of(t.c)));
  stack.push_back(from(*t.layout.tensor));
  stack.push_back(from(static_cast<std::int64_t>(p.grouping)));
  stack.push_back(from(p.alignment));
  if (p.is_along_k()) {
    stack.push_back(from(p.is_flat));
    stack.push_back(from(p.scales_aligned));
    stack.push_back(from(p.gemm.a.major == Major::Mn));
    stack.push_back(from(p.gemm.a_scale.gran_k));
  } else {
    stack.push_back(from(p.zero_padding));
    stack.push_back(from(t.b_is_transposed));
    for (const std::int64_t gran : {p.gemm.a_scale.gran_mn, p.gemm.b_scale.gran_mn,
                                    p.gemm.a_scale.gran_k, p.gemm.b_scale.gran_k})
      stack.push_back(from(gran));
  }
  stack.push_back(from(alpha));
  const std::string name = registry().ns + (p.is_along_k() ? "::_reference_k_grouped_gemm"
                                                           : "::_reference_m_grouped_gemm");
  if (torch_call_dispatcher(name.c_str(), "", stack.data(), TORCH_ABI_VERSION) == 0) return;
  std::string why;
  has_host_compiler(&why);
  DJ_FAIL(kToolchain, "deep_gemm.{}: reference: given {}.\n  {}", op, name, why);
}

}  // namespace deep_gemm::ops
