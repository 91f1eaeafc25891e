#include <deep_gemm/csrc/ops/reference_call.hpp>

#include <cstdio>
#include <mutex>
#include <vector>

#include <torch/csrc/stable/stableivalue_conversions.h>

#include <deep_gemm/csrc/launch/jit.hpp>
#include <deep_gemm/csrc/utils/registry.hpp>
#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/str.hpp>

namespace deep_gemm::ops {
namespace {

using torch::stable::detail::from;

// A view with the two dimensions swapped, or the tensor itself.
Tensor oriented(const Tensor& tensor, bool is_transposed) {
  if (!is_transposed) return tensor;
  const std::int64_t sizes[] = {tensor.size(1), tensor.size(0)};
  const std::int64_t strides[] = {tensor.stride(1), tensor.stride(0)};
  AtenTensorHandle view = nullptr;
  if (aoti_torch_as_strided(tensor.get(), sizes, strides, &view) != 0)
    DJ_PANIC("torch could not transpose an operand");
  return Tensor(view);
}

}  // namespace

void warn_of_reference() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::string why;
    has_host_compiler(&why);
    std::fputs(("deep_gemm: warning: no C++ compiler, so operators run as torch code, slowly. " +
                why + "\n")
                   .c_str(),
               stderr);
  });
}

void call_reference(const GemmFacts& facts, const GemmProblem& problem, const GemmTensors& t,
                    double alpha) {
  const bool is_scaled = t.a_scale != nullptr;
  std::vector<StableIValue> stack;
  stack.push_back(from(oriented(*t.a, facts.layout.a_is_transposed)));
  if (is_scaled) stack.push_back(from(oriented(*t.a_scale, facts.layout.a_is_transposed)));
  stack.push_back(from(oriented(*t.b, facts.layout.b_is_transposed)));
  if (is_scaled) stack.push_back(from(oriented(*t.b_scale, facts.layout.b_is_transposed)));
  stack.push_back(from(*t.d));
  stack.push_back(from(t.c == nullptr ? std::nullopt : std::optional<Tensor>(*t.c)));
  if (is_scaled) {
    for (const std::int64_t gran : {problem.a_scale.gran_mn, problem.b_scale.gran_mn,
                                    problem.a_scale.gran_k, problem.b_scale.gran_k})
      stack.push_back(from(gran));
  }
  stack.push_back(from(alpha));
  call_reference_operator(facts.op, is_scaled ? "_reference_fp8_gemm" : "_reference_bf16_gemm",
                          stack);
}

void call_reference_operator(std::string_view op, const char* name,
                             std::vector<StableIValue>& stack) {
  warn_of_reference();
  const std::string qualified = registry().ns + "::" + name;
  if (torch_call_dispatcher(qualified.c_str(), "", stack.data(), TORCH_ABI_VERSION) == 0) return;
  std::string why;
  has_host_compiler(&why);
  DJ_FAIL(kToolchain, "deep_gemm.{}: reference: given {}.\n  {}", op, name, why);
}

}  // namespace deep_gemm::ops
