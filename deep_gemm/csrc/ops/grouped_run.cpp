#include <deep_gemm/csrc/ops/grouped_run.hpp>

#include <cstdio>
#include <mutex>

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <deep_gemm/csrc/launch/capture.hpp>
#include <deep_gemm/csrc/launch/grouped_launch.hpp>
#include <deep_gemm/csrc/ops/grouped_reference.hpp>
#include <deep_gemm/csrc/ops/grouped_values.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_gemm/csrc/utils/state.hpp>
#include <deep_jit/utils/exception.hpp>

namespace deep_gemm::ops {
namespace {

void require(AOTITorchError code, const char* what) {
  if (code != 0) DJ_PANIC("torch could not {}", what);
}

template <class T>
std::vector<T> elements(const TensorFacts& facts) {
  const auto* data = reinterpret_cast<const T*>(facts.address);
  std::vector<T> values(static_cast<std::size_t>(facts.rank == 0 ? 1 : facts.sizes[0]));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = data[static_cast<std::int64_t>(i) * facts.strides[0]];
  return values;
}

// Waits for the device.
std::vector<std::int32_t> values_of(const Arg& layout) {
  if (layout.facts.device == DeviceKind::Cpu) return elements<std::int32_t>(layout.facts);
  const std::int64_t stride = 1;
  AtenTensorHandle handle = nullptr;
  require(aoti_torch_empty_strided(1, layout.facts.sizes.data(), &stride, aoti_torch_dtype_int32(),
                                   aoti_torch_device_type_cpu(), 0, &handle),
          "allocate a copy of the layout");
  const Tensor copy(handle);
  require(aoti_torch_copy_(copy.get(), layout.tensor->get(), 0), "copy the layout");
  return elements<std::int32_t>(facts_of(copy));
}

void warn_of_capture() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::fputs("deep_gemm: warning: group layouts are not checked while a graph is captured\n",
               stderr);
  });
}

const void* data_of(const Arg* arg) {
  return arg == nullptr ? nullptr : reinterpret_cast<const void*>(arg->facts.address);
}

bool is_trivial(const GemmProblem& p) { return p.is_meta || p.m == 0 || p.n == 0 || p.k == 0; }

void finish_trivial(const GemmProblem& p, const GroupedArgs& t) {
  if (p.is_meta || p.m == 0 || p.n == 0) return;
  if (p.accumulate == Accumulate::FromC)
    require(aoti_torch_copy_(t.d.tensor->get(), t.c->tensor->get(), 0), "copy c to d");
  if (p.accumulate == Accumulate::None) require(aoti_torch_zero_(t.d.tensor->get()), "clear d");
}

}  // namespace

std::int64_t group_alignment() {
  const std::int64_t alignment = current_knobs().mk_alignment;
  return alignment == 0 ? 128 : alignment;
}

Sizes sizes_of(const std::optional<TensorFacts>& ks) {
  if (!ks || ks->device == DeviceKind::Meta) return std::nullopt;
  if (ks->device != DeviceKind::Cpu || ks->rank != 1)
    refuse(Rule::KSizesHost, {"k_grouped", "ks", ks->to_string()});
  if (ks->dtype == DType::Int64) return elements<std::int64_t>(*ks);
  if (ks->dtype != DType::Int32) refuse(Rule::LayoutInt32, {"k_grouped", "ks", ks->to_string()});
  const auto values = elements<std::int32_t>(*ks);
  return std::vector<std::int64_t>(values.begin(), values.end());
}

bool run_grouped(Call& call, std::string_view op, const GroupedProblem& problem,
                 const GroupedArgs& t, const Sizes* ks, std::optional<double> alpha) {
  if (is_trivial(problem.gemm)) {
    if (!call.is_warm()) finish_trivial(problem.gemm, t);
    return !call.is_warm();
  }
  const Knobs knobs = current_knobs();
  const Placement placement = placement_of(t.layout.facts, knobs);
  GroupedAddresses at;
  at.a = data_of(&t.a);
  at.a_scale = data_of(t.a_scale);
  at.b = data_of(&t.b);
  at.b_scale = data_of(t.b_scale);
  at.d = const_cast<void*>(data_of(&t.d));
  at.c = data_of(t.c);
  at.layout = static_cast<const std::int32_t*>(data_of(&t.layout));
  at.alpha = static_cast<float>(alpha.value_or(1.0));
  if (call.is_warm()) return launch_warm(call, problem, placement, knobs, at);
  if (knobs.check != 0) {
    if (is_capturing(placement)) {
      warn_of_capture();
    } else {
      check_values(op, problem, ks == nullptr ? Sizes() : *ks, values_of(t.layout));
    }
  }
  if (!launch_grouped(op, problem, placement, knobs, at))
    call_grouped_reference(op, problem, t, alpha.value_or(1.0));
  return true;
}

}  // namespace deep_gemm::ops
