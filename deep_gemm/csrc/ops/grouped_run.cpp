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
std::vector<T> elements(const Tensor& tensor) {
  const TensorFacts facts = facts_of(tensor);
  const auto* data = reinterpret_cast<const T*>(facts.address);
  return std::vector<T>(data, data + (facts.rank == 0 ? 1 : facts.sizes[0]));
}

// Waits for the device.
std::vector<std::int32_t> values_of(const Tensor& layout, const TensorFacts& facts) {
  if (facts.device == DeviceKind::Cpu) return elements<std::int32_t>(layout);
  const std::int64_t stride = 1;
  AtenTensorHandle handle = nullptr;
  require(aoti_torch_empty_strided(1, facts.sizes.data(), &stride, aoti_torch_dtype_int32(),
                                   aoti_torch_device_type_cpu(), 0, &handle),
          "allocate a copy of the layout");
  const Tensor copy(handle);
  require(aoti_torch_copy_(copy.get(), layout.get(), 0), "copy the layout");
  return elements<std::int32_t>(copy);
}

void warn_of_capture() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::fputs("deep_gemm: warning: group layouts are not checked while a graph is captured\n",
               stderr);
  });
}

const void* data_of(const Tensor* tensor) {
  return tensor == nullptr ? nullptr : reinterpret_cast<const void*>(facts_of(*tensor).address);
}

}  // namespace

std::int64_t group_alignment() {
  const std::int64_t alignment = current_knobs().mk_alignment;
  return alignment == 0 ? 128 : alignment;
}

Sizes sizes_of(const std::optional<Tensor>& ks) {
  if (!ks) return std::nullopt;
  const TensorFacts facts = facts_of(*ks);
  if (facts.device == DeviceKind::Meta) return std::nullopt;
  if (facts.device != DeviceKind::Cpu || facts.rank != 1)
    refuse(Rule::KSizesHost, {"k_grouped", "ks", facts.to_string()});
  if (facts.dtype == DType::Int64) return elements<std::int64_t>(*ks);
  if (facts.dtype != DType::Int32)
    refuse(Rule::LayoutInt32, {"k_grouped", "ks", facts.to_string()});
  const auto values = elements<std::int32_t>(*ks);
  return std::vector<std::int64_t>(values.begin(), values.end());
}

bool finish_if_trivial(const GroupedProblem& p, const GroupedTensors& t) {
  if (p.gemm.is_meta || p.gemm.m == 0 || p.gemm.n == 0) return true;
  if (p.gemm.k != 0) return false;
  if (p.gemm.accumulate == Accumulate::FromC)
    require(aoti_torch_copy_(t.d.get(), t.c->get(), 0), "copy c to d");
  if (p.gemm.accumulate == Accumulate::None) require(aoti_torch_zero_(t.d.get()), "clear d");
  return true;
}

void run_grouped(std::string_view op, const GroupedProblem& problem, const GroupedTensors& t,
                 const Sizes& ks, std::optional<double> alpha) {
  if (finish_if_trivial(problem, t)) return;
  const Knobs knobs = current_knobs();
  const TensorFacts layout = facts_of(t.layout);
  const Placement placement = placement_of(layout, knobs);
  if (knobs.check != 0) {
    if (is_capturing(placement)) {
      warn_of_capture();
    } else {
      check_values(op, problem, ks, values_of(t.layout, layout));
    }
  }
  GroupedAddresses at;
  at.a = data_of(&t.a);
  at.a_scale = data_of(t.a_scale);
  at.b = data_of(&t.b);
  at.b_scale = data_of(t.b_scale);
  at.d = const_cast<void*>(data_of(&t.d));
  at.c = data_of(t.c);
  at.layout = reinterpret_cast<const std::int32_t*>(layout.address);
  at.alpha = static_cast<float>(alpha.value_or(1.0));
  if (!launch_grouped(op, problem, placement, knobs, at))
    call_grouped_reference(op, problem, t, alpha.value_or(1.0));
}

}  // namespace deep_gemm::ops
