#include <deep_gemm/csrc/ops/logits_run.hpp>

#include <vector>

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/stableivalue_conversions.h>

#include <deep_gemm/csrc/ops/reference_call.hpp>
#include <deep_gemm/csrc/utils/state.hpp>
#include <deep_jit/utils/exception.hpp>

namespace deep_gemm::ops {
namespace {

using torch::stable::detail::from;

AtenTensorHandle allocate(std::int64_t rank, const std::int64_t* sizes, const std::int64_t* strides,
                          std::int32_t dtype, const TensorFacts& like) {
  const bool is_cuda = like.device == DeviceKind::Cuda;
  AtenTensorHandle handle = nullptr;
  if (aoti_torch_empty_strided(
          rank, sizes, strides, dtype,
          is_cuda ? aoti_torch_device_type_cuda() : aoti_torch_device_type_cpu(),
          is_cuda ? like.device_index : 0, &handle) != 0)
    DJ_PANIC("torch could not allocate the output");
  return handle;
}

void* address_of(const Tensor* tensor) { return tensor == nullptr ? nullptr : tensor->data_ptr(); }

std::optional<Tensor> optional_of(const Tensor* tensor) {
  return tensor == nullptr ? std::nullopt : std::optional<Tensor>(*tensor);
}

void refer_sparse(const LogitsFacts& f, const LogitsProblem& p, const LogitsTensors& t,
                  const Tensor& logits) {
  std::vector<StableIValue> stack = {
      from(t.q),       from(t.q_scale),
      from(t.kv),      from(optional_of(t.kv_scale)),
      from(t.weights), from(*t.schedule),
      from(logits),    from(static_cast<std::int64_t>(p.sparse_block))};
  call_reference_operator(f.op, "_reference_sparse_mqa_logits", stack);
}

}  // namespace

Tensor new_logits(const LogitsProblem& p, const TensorFacts& like) {
  const std::int64_t group = 128 / p.heads;
  const std::int64_t padded[] = {(p.rows + group - 1) / group * group, p.logits_stride};
  const std::int64_t strides[] = {p.logits_stride, 1};
  const Tensor whole(allocate(
      2, padded, strides,
      p.logits_type == OutputType::Bf16 ? aoti_torch_dtype_bfloat16() : aoti_torch_dtype_float32(),
      like));
  const std::int64_t sizes[] = {p.rows, p.width};
  AtenTensorHandle view = nullptr;
  if (aoti_torch__reinterpret_tensor(whole.get(), 2, sizes, strides, 0, &view) != 0)
    DJ_PANIC("torch could not make a view of the output");
  return Tensor(view);
}

Tensor new_int32(std::initializer_list<std::int64_t> sizes, const TensorFacts& like) {
  std::int64_t strides[2] = {1, 1};
  if (sizes.size() == 2) strides[0] = sizes.begin()[1];
  return Tensor(allocate(static_cast<std::int64_t>(sizes.size()), sizes.begin(), strides,
                         aoti_torch_dtype_int32(), like));
}

Tensor new_bytes(std::int64_t count, const TensorFacts& like) {
  const std::int64_t stride = 1;
  return Tensor(allocate(1, &count, &stride, aoti_torch_dtype_uint8(), like));
}

void launch_or_refer(const LogitsFacts& f, const LogitsProblem& p, const LogitsTensors& t,
                     const Tensor& logits) {
  if (p.is_empty() || p.keys == 0) return;
  const Knobs knobs = current_knobs();
  LogitsAddresses at;
  at.q = t.q.data_ptr();
  at.q_scale = t.q_scale ? t.q_scale->data_ptr() : nullptr;
  at.kv = t.kv.data_ptr();
  at.kv_scale = address_of(t.kv_scale);
  at.weights = t.weights.data_ptr();
  at.starts = address_of(t.starts);
  at.ends = address_of(t.ends);
  at.table = address_of(t.table);
  at.schedule = address_of(t.schedule);
  at.logits = logits.data_ptr();
  if (launch_logits(f.op, p, placement_of(f.q, knobs), knobs, at)) return;
  if (p.is_sparse()) return refer_sparse(f, p, t, logits);
  std::vector<StableIValue> stack = {from(t.q), from(t.q_scale), from(t.kv)};
  if (!p.is_paged) stack.push_back(from(*t.kv_scale));
  stack.push_back(from(t.weights));
  if (!p.is_paged) stack.push_back(from(*t.starts));
  stack.push_back(from(*t.ends));
  if (p.is_paged) stack.push_back(from(*t.table));
  stack.push_back(from(logits));
  if (!p.is_paged) {
    stack.push_back(from(p.is_compressed));
    stack.push_back(from(p.is_clean));
  }
  call_reference_operator(
      f.op, p.is_paged ? "_reference_paged_mqa_logits" : "_reference_mqa_logits", stack);
}

void launch_or_refer(const LogitsScheduleFacts& f, const LogitsScheduleProblem& p,
                     const Tensor& lengths, const Tensor& schedule) {
  const Knobs knobs = current_knobs();
  const LogitsScheduleAddresses at{lengths.data_ptr(), schedule.data_ptr()};
  if (launch_logits_schedule(p, placement_of(f.lengths, knobs), knobs, at)) return;
  std::vector<StableIValue> stack = {from(lengths), from(schedule)};
  call_reference_operator(f.op, "_reference_logits_schedule", stack);
}

void launch_or_refer(const SparseScheduleFacts& f, const SparseScheduleProblem& p,
                     const SparseScheduleTensors& t, const Tensor& metadata) {
  if (p.is_meta || p.rows == 0) return;
  const Knobs knobs = current_knobs();
  const SparseScheduleAddresses at{address_of(t.starts), t.ends.data_ptr(), address_of(t.table),
                                   t.blocks.data_ptr(), metadata.data_ptr()};
  if (launch_sparse_schedule(p, placement_of(f.blocks, knobs), knobs, at)) return;
  std::vector<StableIValue> stack = {from(optional_of(t.starts)),
                                     from(t.ends),
                                     from(optional_of(t.table)),
                                     from(t.blocks),
                                     from(metadata),
                                     from(p.keys),
                                     from(p.page),
                                     from(static_cast<std::int64_t>(p.block)),
                                     from(p.is_unaligned)};
  call_reference_operator(f.op, "_reference_sparse_schedule", stack);
}

}  // namespace deep_gemm::ops
