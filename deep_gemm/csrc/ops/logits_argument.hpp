// One tensor of a logits call: every rule names it the same way.
//   const Argument q{facts.op, "q", facts.q};
//   q.require(q.facts.rank == 3, Rule::LogitsRank, "q", 3, "seq, heads, head_dim");
// Leaves which rules a call keeps to logits_check.cpp and sparse_schedule_check.cpp.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_gemm/csrc/problem/tensor_facts.hpp>

namespace deep_gemm::ops {

struct LogitsArgument {
  std::string_view op;
  std::string_view name;
  const TensorFacts& facts;

  template <class... D>
  void require(bool is_kept, Rule rule, const D&... details) const {
    if (!is_kept) [[unlikely]]
      refuse(rule, {op, name, facts.to_string()}, {Detail(details)...});
  }
  void on_device_of(const TensorFacts& first) const {
    require(facts.device == first.device && facts.device_index == first.device_index,
            Rule::OneDevice, [&] { return device_name(first.device, first.device_index); });
  }
  void rank(int wanted, const char* names) const {
    require(facts.rank == wanted, Rule::LogitsRank, name, wanted, names);
  }
  void shaped(const char* names, std::initializer_list<std::int64_t> sizes) const {
    rank(static_cast<int>(sizes.size()), names);
    require(std::equal(sizes.begin(), sizes.end(), facts.sizes.begin()), Rule::LogitsShape, name,
            names, [&] {
              std::string text;
              for (const std::int64_t x : sizes)
                text += (text.empty() ? "" : ", ") + std::to_string(x);
              return text;
            });
  }
  // Strides of directions of size 1 mean nothing.
  bool has_packed(int first) const {
    std::int64_t stride = 1;
    for (int i = facts.rank - 1; i >= first; --i) {
      const auto at = static_cast<std::size_t>(i);
      if (facts.sizes[at] == 0) return true;
      if (facts.sizes[at] > 1 && facts.strides[at] != stride) return false;
      stride *= facts.sizes[at];
    }
    return true;
  }
  void contiguous() const { require(has_packed(0), Rule::LogitsContiguous, name, ""); }
  void int32() const { require(facts.dtype == DType::Int32, Rule::LogitsInt32, name); }
};

inline int alignment_of(const TensorFacts& t) {
  const std::uint64_t lowest = t.address & (~t.address + 1);
  return t.address == 0 || lowest > 16 ? 16 : static_cast<int>(lowest);
}

}  // namespace deep_gemm::ops
