// A shortcut for warm eager calls from Python: no dispatcher, no boxing, no Python per tensor.
//   bool run(Call& call, ...);                 // one function an operator, for both ways in
//   const EagerRegistration row("fp8_gemm_nt", &warm, types, 12);   // by DG_OPERATOR, operator.hpp
// A warm call may only repeat what the operator would do with the same arguments: whatever is not
// prepared yet, not legal or not understood is answered by false (or a throw), and the caller goes
// through the operator, which compiles or explains. Leaves Python's side to python_eager.cpp and
// when to step aside to deep_gemm/_eager.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <deep_gemm/csrc/problem/tensor_facts.hpp>

namespace deep_gemm {

// What a schema says of an argument.
struct ArgumentType {
  enum class Kind : std::uint8_t { Tensor, Int, Bool, Float, Text, Other };

  Kind kind = Kind::Other;
  bool is_optional = false;

  friend bool operator==(const ArgumentType&, const ArgumentType&) = default;
};

// One argument as it was read, the field of its kind filled in.
struct EagerValue {
  bool is_none = false;
  std::int64_t integer = 0;  // Int and Bool
  double number = 0;
  std::string_view text;
  TensorFacts facts;
};

inline constexpr std::size_t kMaxEagerArguments = 16;

// How an operator was called.
class Call {
 public:
  explicit Call(bool is_warm) : is_warm_(is_warm) {}
  Call(const Call&) = delete;
  virtual ~Call() = default;

  // Past the dispatcher: there are facts and no tensors, and only what is prepared may run.
  bool is_warm() const { return is_warm_; }
  // What follows may wait, for a device or a kernel on the host: nothing of Python is held then.
  virtual void launching() {}

 private:
  const bool is_warm_;
};

// A result to allocate: [rows, columns], rows `stride` elements apart, in a storage of whole rows.
struct NewMatrix {
  DType dtype = DType::Float32;  // or BFloat16, Int32
  std::int64_t rows = 0, columns = 0, stride = 0;
  std::int64_t stored_rows = 0;

  bool is_plain() const { return columns == stride && rows == stored_rows; }
};

// Of an operator that returns a tensor.
class ReturningCall : public Call {
 public:
  using Call::Call;
  // Its memory, on the device of `like`; null for an empty one, and where a warm call cannot.
  virtual void* allocate(const NewMatrix& matrix, const TensorFacts& like) = 0;
};

// The values are as many, and of the types, as were registered.
using EagerFunction = bool (*)(ReturningCall& call, const EagerValue* values);

struct EagerOperator {
  const char* name = nullptr;
  EagerFunction function = nullptr;
  const ArgumentType* types = nullptr;
  std::size_t num_arguments = 0;
  bool returns_tensor = false;
};

struct EagerRegistration {
  explicit EagerRegistration(const EagerOperator& op) noexcept;
};

// -1: the operator has no shortcut. One whose types are not those of its schema has none either.
int eager_index_of(std::string_view op);
const EagerOperator* eager_operator_at(long long index);  // null: no such index

// "name(Tensor a, SymInt? n=None) -> ()"
std::vector<ArgumentType> argument_types_of(std::string_view schema);

}  // namespace deep_gemm
