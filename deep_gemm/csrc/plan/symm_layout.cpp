#include <deep_gemm/csrc/plan/symm_layout.hpp>

#include <algorithm>

#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_gemm/csrc/problem/sizes.hpp>

namespace deep_gemm {
namespace {

constexpr std::int64_t kRegionAlignment = 1024;  // what swizzled copies need of a base address
constexpr std::int64_t kMegaTileRows = 192;      // of the tallest tile a fused kernel uses
constexpr std::int64_t kListVersion = 1, kHeader = 3, kViewWords = 4;

// Data of one row of activations, and its scales: one byte an exponent or E4M3, four a word.
struct RowTypes {
  DType data;
  std::int64_t values_per_element;
  std::int64_t values_per_scale_word;  // 0: no scales
};

RowTypes row_types(MegaTypes types) {
  switch (types) {
    case MegaTypes::Fp8Fp4:
      return {DType::Float8E4m3, 1, 128};
    case MegaTypes::Fp4Fp4:
      return {DType::Int8, 2, 64};
    case MegaTypes::Bf16Bf16:
      break;
  }
  return {DType::BFloat16, 1, 0};
}

class Builder {
 public:
  explicit Builder(MegaTypes types) : types_(row_types(types)) {}

  void reserve(std::int64_t bytes) { at_ = round_up(at_ + bytes, kRegionAlignment); }

  void add(DType dtype, std::int64_t rows, std::int64_t columns) {
    layout_.views.push_back({dtype, at_, {rows, columns}});
    reserve(layout_.views.back().bytes());
  }

  // Activations of `rows` tokens and their scales: two views.
  void add_rows(std::int64_t rows, std::int64_t width) {
    add(types_.data, rows, width / types_.values_per_element);
    add(DType::Int32, rows,
        types_.values_per_scale_word == 0 ? 0 : width / types_.values_per_scale_word);
  }

  SymmLayout finish() {
    layout_.bytes = at_;
    return std::move(layout_);
  }

 private:
  RowTypes types_;
  std::int64_t at_ = 0;
  SymmLayout layout_;
};

void check(const SymmProblem& p, std::string_view op) {
  const auto require = [&](bool is_kept, Rule rule, const char* name, std::int64_t value,
                           std::initializer_list<Detail> details = {}) {
    if (!is_kept) refuse(rule, {op, name, std::to_string(value)}, details);
  };
  require(p.num_ranks > 0, Rule::MegaPositive, "num_ranks", p.num_ranks, {"num_ranks"});
  require(p.num_experts > 0, Rule::MegaPositive, "num_experts", p.num_experts, {"num_experts"});
  require(p.max_tokens > 0, Rule::MegaPositive, "num_max_tokens_per_rank", p.max_tokens,
          {"num_max_tokens_per_rank"});
  require(p.num_topk > 0, Rule::MegaPositive, "num_topk", p.num_topk, {"num_topk"});
  require(p.num_shared_experts >= 0, Rule::MegaPositive, "num_shared_experts", p.num_shared_experts,
          {"num_shared_experts, which may be 0,"});
  require(p.num_sms > 0, Rule::MegaPositive, "num_sms", p.num_sms, {"num_sms"});
  require(p.num_experts % p.num_ranks == 0, Rule::MegaExperts, "num_experts", p.num_experts,
          {p.num_ranks});
  require(p.hidden > 0 && p.hidden % 128 == 0, Rule::MegaWidth, "hidden", p.hidden, {"hidden"});
  require(p.intermediate > 0 && p.intermediate % 128 == 0, Rule::MegaWidth, "intermediate_hidden",
          p.intermediate, {"intermediate_hidden"});
}

std::int64_t ring_tokens_of(const SymmProblem& p, std::int64_t max_tokens, std::string_view op) {
  const RingLimit limit =
      mega_ring_limit(max_tokens, p.num_experts / p.num_ranks, p.num_topk, p.num_ranks, p.num_sms);
  // Why twice the least: one half is filled while the other is worked off.
  if (p.num_ring_tokens == 0) return std::clamp(2 * limit.min, limit.min, limit.max);
  const std::int64_t given = round_up(p.num_ring_tokens, kMegaTokenAlignment);
  if (given < limit.min || given > limit.max)
    refuse(Rule::MegaRing, {op, "num_ring_tokens", std::to_string(p.num_ring_tokens)},
           {limit.min, limit.max});
  return given;
}

}  // namespace

RingLimit mega_ring_limit(std::int64_t max_tokens, std::int64_t num_experts_per_rank,
                          std::int64_t num_topk, std::int64_t num_ranks, std::int64_t num_sms) {
  const std::int64_t tokens = round_up(max_tokens, kMegaTokenAlignment) * num_ranks;
  const std::int64_t padding = num_experts_per_rank * (kMegaTileRows - 1);
  RingLimit limit;
  limit.max =
      round_up(tokens * std::min(num_topk, num_experts_per_rank) + padding, kMegaTokenAlignment);
  limit.min = std::min(round_up(num_sms * kMegaTileRows, kMegaTokenAlignment), limit.max);
  return limit;
}

SymmLayout build_symm_buffer_layout(const SymmProblem& p, std::string_view op) {
  check(p, op);
  const std::int64_t tokens = round_up(p.max_tokens, kMegaTokenAlignment);
  const std::int64_t ring = ring_tokens_of(p, tokens, op);
  Builder builder(p.types);
  // Barrier words and received counts, a row a rank; the kernel's own, so no view.
  builder.reserve(p.num_ranks * (2 + p.num_experts) * 8);
  builder.add_rows(tokens, p.hidden);
  builder.add(DType::Int64, tokens, p.num_topk);
  builder.add(DType::Float32, tokens, p.num_topk);
  builder.add_rows(ring, p.hidden);
  builder.add_rows(ring, p.intermediate);
  const std::int64_t shared = p.num_shared_experts == 0 ? 0 : tokens;
  builder.add_rows(shared, p.hidden);
  builder.add_rows(shared, p.intermediate * std::max<std::int64_t>(p.num_shared_experts, 1));
  // What comes back from the experts, before it is added up.
  builder.reserve(tokens * (p.num_topk + p.num_shared_experts) * p.hidden * 2);
  return builder.finish();
}

MegaTypes mega_types_from(std::string_view name, std::string_view op) {
  if (name == "fp8xfp4") return MegaTypes::Fp8Fp4;
  if (name == "bf16xbf16") return MegaTypes::Bf16Bf16;
  if (name == "fp4xfp4" || name == "nvfp4xnvfp4") return MegaTypes::Fp4Fp4;
  refuse(Rule::MegaTypes, {op, "mma_type", "\"" + std::string(name) + "\""});
}

std::vector<std::int64_t> to_int_list(const SymmLayout& layout) {
  std::vector<std::int64_t> list = {kListVersion, layout.bytes,
                                    static_cast<std::int64_t>(layout.views.size())};
  for (const SymmView& view : layout.views)
    list.insert(list.end(),
                {static_cast<std::int64_t>(view.dtype), view.offset, view.sizes[0], view.sizes[1]});
  return list;
}

SymmLayout symm_layout_from(const std::vector<std::int64_t>& list, std::string_view op) {
  const auto size = static_cast<std::int64_t>(list.size());
  const auto refuse_list = [&] {
    refuse(Rule::MegaLayout, {op, "layout", std::to_string(size) + " integers"});
  };
  if (size < kHeader || list[0] != kListVersion || list[2] < 0 || list[2] > 64 ||
      size != kHeader + list[2] * kViewWords)
    refuse_list();
  SymmLayout layout;
  layout.bytes = list[1];
  for (auto at = list.begin() + kHeader; at != list.end(); at += kViewWords) {
    if (at[0] <= 0 || at[0] > static_cast<std::int64_t>(DType::Bool)) refuse_list();
    const SymmView view{static_cast<DType>(at[0]), at[1], {at[2], at[3]}};
    // Why the divisions: a hostile list must not overflow the product.
    const bool is_inside =
        view.offset >= 0 && view.offset <= layout.bytes && view.sizes[0] >= 0 &&
        view.sizes[1] >= 0 &&
        (view.sizes[0] == 0 || view.sizes[1] == 0 ||
         view.sizes[0] <= (layout.bytes - view.offset) / dtype_bytes(view.dtype) / view.sizes[1]);
    if (!is_inside) refuse_list();
    layout.views.push_back(view);
  }
  return layout;
}

}  // namespace deep_gemm
