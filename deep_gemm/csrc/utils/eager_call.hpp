// A shortcut for warm eager calls from Python: no dispatcher, no boxing, no Python per tensor.
//   bool eager_fp8_gemm(const EagerArguments& call) { ...; return launch_if_prepared(...); }
//   DG_REGISTER_EAGER("fp8_gemm_nt", &eager_fp8_gemm);         // beside the operator
// It may only repeat what the operator would do with the same arguments: whatever is not prepared
// yet, not legal, not on a GPU or not understood is answered by false (or a throw), and the caller
// goes through the operator, which compiles or explains. Leaves Python's side to
// python_eager.cpp and when to step aside to deep_gemm/_eager.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <deep_gemm/csrc/problem/tensor_facts.hpp>

namespace deep_gemm {

struct EagerValue {
  enum class Kind : std::uint8_t { None, Tensor, Int, Float };

  Kind kind = Kind::None;
  std::int64_t integer = 0;  // bools too
  double number = 0;
  TensorFacts facts;
};

inline constexpr std::size_t kMaxEagerArguments = 16;

// The arguments of one call in the operator's order.
class EagerArguments {
 public:
  EagerArguments(const EagerValue* values, std::size_t size) : values_(values), size_(size) {}

  std::size_t size() const { return size_; }
  const TensorFacts& tensor(std::size_t i) const { return at(i, EagerValue::Kind::Tensor).facts; }
  std::int64_t integer(std::size_t i) const { return at(i, EagerValue::Kind::Int).integer; }
  std::optional<TensorFacts> maybe_tensor(std::size_t i) const {
    return is_none(i) ? std::nullopt : std::optional<TensorFacts>(tensor(i));
  }
  std::optional<double> maybe_number(std::size_t i) const {
    if (is_none(i)) return std::nullopt;
    const EagerValue& value = values_[i];
    return value.kind == EagerValue::Kind::Int ? static_cast<double>(value.integer)
                                               : at(i, EagerValue::Kind::Float).number;
  }
  bool is_none(std::size_t i) const { return i >= size_ || values_[i].kind == Kind::None; }

 private:
  using Kind = EagerValue::Kind;
  // Throws when the argument is missing or of another kind: not understood here.
  const EagerValue& at(std::size_t i, Kind kind) const;

  const EagerValue* values_;
  std::size_t size_;
};

using EagerFunction = bool (*)(const EagerArguments& call);

struct EagerRegistration {
  EagerRegistration(const char* op, EagerFunction function) noexcept;
};

// -1: the operator has no shortcut.
int eager_index_of(std::string_view op);
EagerFunction eager_function_at(int index);  // null: no such index

#define DG_REGISTER_EAGER(OP, FUNCTION) \
  const ::deep_gemm::EagerRegistration DG_CONCAT(eager_, __COUNTER__)(OP, FUNCTION)

}  // namespace deep_gemm
