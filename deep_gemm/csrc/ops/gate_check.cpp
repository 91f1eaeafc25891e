#include <deep_gemm/csrc/ops/gate_check.hpp>

#include <algorithm>
#include <string>
#include <string_view>

#include <deep_gemm/abi/gate_params.h>
#include <deep_gemm/csrc/plan/rules.hpp>

namespace deep_gemm::ops {
namespace {

constexpr std::string_view kOp = "bf16_mega_gate";
constexpr std::int64_t kMaxRows = 0x7fffffff;

struct Argument {
  std::string_view name;
  const TensorFacts& facts;

  template <class... D>
  void require(bool is_kept, Rule rule, const D&... details) const {
    if (!is_kept) [[unlikely]]
      refuse(rule, {kOp, name, facts.to_string()}, {Detail(details)...});
  }

  // On the device of x, of that type and shape, contiguous. -1: any size.
  void is(const TensorFacts& x, std::initializer_list<DType> dtypes, const char* dtype_names,
          std::initializer_list<std::int64_t> sizes) const {
    require(facts.device == x.device && facts.device_index == x.device_index, Rule::OneDevice,
            [&] { return device_name(x.device, x.device_index); });
    require(std::find(dtypes.begin(), dtypes.end(), facts.dtype) != dtypes.end(), Rule::GateDtype,
            name, dtype_names);
    bool is_shape = facts.rank == static_cast<int>(sizes.size()), is_contiguous = true;
    std::int64_t stride = 1;
    for (auto i = static_cast<std::int64_t>(sizes.size()) - 1; i >= 0; --i) {
      const auto at = static_cast<std::size_t>(i);
      const std::int64_t size = sizes.begin()[i];
      is_shape = is_shape && (size < 0 || facts.sizes[at] == size);
      is_contiguous = is_contiguous && (facts.sizes[at] <= 1 || facts.strides[at] == stride);
      stride *= facts.sizes[at];
    }
    require(is_shape, Rule::GateShape, name, [&] {
      std::string text;
      for (const std::int64_t size : sizes)
        text += (text.empty() ? "" : ", ") + (size < 0 ? "any" : std::to_string(size));
      return text;
    });
    require(is_contiguous || stride == 0, Rule::GateContiguous, name);
  }
};

int words_of(const TensorFacts& ids) { return ids.dtype == DType::Int64 ? 2 : 1; }

void require_both(std::string_view name, const std::optional<TensorFacts>& one,
                  std::string_view other, const std::optional<TensorFacts>& two) {
  if (one.has_value() != two.has_value())
    refuse(Rule::GateTogether, {kOp, one ? name : other, (one ? *one : *two).to_string()},
           {name, other});
}

}  // namespace

GateProblem check_gate(const GateFacts& f) {
  const Argument x{"x", f.x};
  x.require(f.x.device != DeviceKind::Other, Rule::DeviceKind);
  x.is(f.x, {DType::BFloat16}, "bfloat16", {-1, -1});
  GateProblem p;
  p.rows = f.x.sizes[0];
  p.hidden = f.x.sizes[1];
  x.require(p.rows <= kMaxRows && p.hidden >= 1 && p.hidden <= kMaxRows, Rule::GateSizes);
  const Argument weight{"weight", f.weight};
  weight.is(f.x, {DType::BFloat16}, "bfloat16", {-1, p.hidden});
  const std::int64_t experts = f.weight.sizes[0];
  weight.require(experts >= 1 && experts <= kMaxGateExperts, Rule::GateExperts);
  p.experts = static_cast<int>(experts);
  if (f.topk < 1 || f.topk > std::min<std::int64_t>(experts, kMaxGateTopk))
    refuse(Rule::GateTopk, {kOp, "num_topk", std::to_string(f.topk)}, {kMaxGateTopk, experts});
  p.topk = static_cast<int>(f.topk);
  Argument{"topk_idx", f.indices}.is(f.x, {DType::Int64}, "int64", {p.rows, f.topk});
  Argument{"topk_weights", f.weights}.is(f.x, {DType::Float32}, "float32", {p.rows, f.topk});
  const auto optional = [&](std::string_view name, const std::optional<TensorFacts>& t,
                            std::initializer_list<DType> dtypes, const char* names,
                            std::initializer_list<std::int64_t> sizes) {
    if (t) Argument{name, *t}.is(f.x, dtypes, names, sizes);
  };
  const auto mask = [&](std::string_view name, const std::optional<TensorFacts>& t) {
    optional(name, t, {DType::Bool, DType::UInt8}, "bool or uint8", {p.rows});
  };
  const auto ids = [&](std::string_view name, const std::optional<TensorFacts>& t,
                       std::initializer_list<std::int64_t> sizes) {
    optional(name, t, {DType::Int32, DType::Int64}, "int32 or int64", sizes);
  };
  mask("mask", f.mask);
  optional("bias", f.bias, {DType::Float32}, "float32", {experts});
  optional("image_bias", f.image_bias, {DType::Float32}, "float32", {experts});
  mask("image_token_mask", f.image_mask);
  mask("fix_routing_mask", f.fixed_mask);
  ids("to_physical_map", f.physical_map, {experts, -1});
  ids("logical_count", f.num_copies, {experts});
  ids("unmapped_topk_idx", f.fixed, {p.rows, f.topk});
  require_both("image_bias", f.image_bias, "image_token_mask", f.image_mask);
  require_both("to_physical_map", f.physical_map, "logical_count", f.num_copies);
  if (f.fixed_mask && !f.fixed)
    refuse(Rule::GateTogether, {kOp, "fix_routing_mask", f.fixed_mask->to_string()},
           {"fix_routing_mask", "unmapped_topk_idx"});
  if (f.physical_map) {
    const Argument map{"to_physical_map", *f.physical_map};
    map.require(f.physical_map->sizes[1] >= 1 && f.physical_map->sizes[1] <= 65536,
                Rule::GateCopies);
    p.max_copies = static_cast<int>(f.physical_map->sizes[1]);
    p.map_words = words_of(*f.physical_map);
    p.copies_words = words_of(*f.num_copies);
  }
  if (f.fixed) p.fixed_words = words_of(*f.fixed);
  p.is_meta = f.x.device == DeviceKind::Meta;
  return p;
}

}  // namespace deep_gemm::ops
