// The host side of the fused mixture-of-experts operators: sizes and views of their buffer.
// Computes nothing on a device, and works wherever the buffer lies.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/stableivalue_conversions.h>
#include <torch/headeronly/core/ScalarType.h>

#include <deep_gemm/csrc/ops/args.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_gemm/csrc/torch_library_utils.hpp>
#include <deep_gemm/csrc/utils/registry.hpp>
#include <deep_jit/utils/exception.hpp>

namespace deep_gemm::ops {
namespace {

using torch::headeronly::ScalarType;
using torch::stable::detail::from;
using torch::stable::detail::to;

constexpr std::string_view kSize = "get_symm_buffer_size_for_mega_moe";
constexpr std::string_view kSlice = "_slice_symm_buffer_for_mega_moe";

ScalarType scalar_type_of(DType dtype) {
  switch (dtype) {
    case DType::Float8E4m3:
      return ScalarType::Float8_e4m3fn;
    case DType::BFloat16:
      return ScalarType::BFloat16;
    case DType::Float32:
      return ScalarType::Float;
    case DType::Int32:
      return ScalarType::Int;
    case DType::Int64:
      return ScalarType::Long;
    default:
      return ScalarType::Char;
  }
}

Tensor call_view(const char* overload, std::array<StableIValue, 2> stack) {
  if (torch_call_dispatcher("aten::view", overload, stack.data(), TORCH_ABI_VERSION) != 0)
    DJ_PANIC("torch could not view the buffer");
  return to<Tensor>(stack[0]);
}

Tensor view_of(const Tensor& buffer, const SymmView& view) {
  const std::int64_t size[] = {view.bytes()}, stride[] = {1};
  AtenTensorHandle bytes = nullptr;
  if (aoti_torch__reinterpret_tensor(buffer.get(), 1, size, stride, view.offset, &bytes) != 0)
    DJ_PANIC("torch could not take a part of the buffer");
  const Tensor typed = call_view("dtype", {from(Tensor(bytes)), from(scalar_type_of(view.dtype))});
  return call_view("",
                   {from(typed), from(std::vector<std::int64_t>{view.sizes[0], view.sizes[1]})});
}

std::tuple<std::int64_t, std::vector<std::int64_t>> get_symm_buffer_size(
    std::int64_t num_ranks, std::int64_t num_experts, std::int64_t max_tokens,
    std::int64_t num_topk, std::int64_t hidden, std::int64_t intermediate, std::string mma_type,
    std::int64_t num_ring_tokens, std::int64_t num_shared_experts, std::int64_t num_sms) {
  const SymmLayout layout = build_symm_buffer_layout({.num_ranks = num_ranks,
                                                      .num_experts = num_experts,
                                                      .max_tokens = max_tokens,
                                                      .num_topk = num_topk,
                                                      .hidden = hidden,
                                                      .intermediate = intermediate,
                                                      .types = mega_types_from(mma_type, kSize),
                                                      .num_ring_tokens = num_ring_tokens,
                                                      .num_shared_experts = num_shared_experts,
                                                      .num_sms = num_sms},
                                                     kSize);
  return {layout.bytes, to_int_list(layout)};
}

std::tuple<std::int64_t, std::int64_t> get_ring_limit(std::int64_t max_tokens,
                                                      std::int64_t num_experts_per_rank,
                                                      std::int64_t num_topk, std::int64_t num_ranks,
                                                      std::int64_t num_sms) {
  const RingLimit limit =
      mega_ring_limit(max_tokens, num_experts_per_rank, num_topk, num_ranks, num_sms);
  return {limit.min, limit.max};
}

std::vector<Tensor> slice_symm_buffer(Tensor buffer, std::vector<std::int64_t> layout) {
  return slice(buffer, symm_layout_from(layout, kSlice), kSlice);
}

DG_REGISTER_OP("get_symm_buffer_size_for_mega_moe", TORCH_BOX(&get_symm_buffer_size),
               Keys::NoTensors);
DG_REGISTER_OP("get_ring_limit_for_mega_moe", TORCH_BOX(&get_ring_limit), Keys::NoTensors);
DG_REGISTER_OP("_slice_symm_buffer_for_mega_moe", TORCH_BOX(&slice_symm_buffer));

}  // namespace

std::vector<Tensor> slice(const Tensor& buffer, const SymmLayout& layout, std::string_view op) {
  const TensorFacts facts = facts_of(buffer);
  const bool is_bytes = facts.rank == 1 && facts.strides[0] == 1 && dtype_bytes(facts.dtype) == 1;
  if (!is_bytes || facts.sizes[0] < layout.bytes)
    refuse(Rule::MegaBuffer, {op, "buffer", facts.to_string()}, {layout.bytes});
  std::vector<Tensor> views;
  for (const SymmView& view : layout.views) views.push_back(view_of(buffer, view));
  return views;
}

}  // namespace deep_gemm::ops
