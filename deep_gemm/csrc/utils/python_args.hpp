// What torch's Python side handed over once, and the arguments of a call read with it.
//   if (!are_no(kQuestions)) return;                    // some mode needs to see operators
//   EagerArguments arguments(op);
//   if (!arguments.add(object) || !arguments.are_complete()) return;     // not understood
// Everything here is called with Python held, and leaves no Python error set. Leaves what to do
// with the arguments to python_eager.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include <deep_gemm/csrc/utils/python_abi.h>
#include <deep_gemm/csrc/utils/eager_call.hpp>

namespace deep_gemm {

// DLPack 1.x, as far as it is used here; its layout is frozen by its major version.
struct DlTensor {
  void* data;
  std::int32_t device_type, device_index;
  std::int32_t rank;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t *sizes, *strides;
  std::uint64_t byte_offset;
};
struct DlExchange {
  std::uint32_t major, minor;
  const DlExchange* previous;
  void *allocate, *export_owning, *import_owning;
  int (*borrow)(void* object, DlTensor* out);
  void* current_stream;
};
inline constexpr std::uint32_t kDlMajor = 1;
inline constexpr std::int32_t kDlCpu = 1, kDlCuda = 2;
inline constexpr const char* kCapsuleName = "dlpack_exchange_api";

// What eager_start is given, in the order of python_eager.hpp.
enum PythonSlot : std::ptrdiff_t {
  kExchange,
  kIsNegative,
  kRequiresGrad,
  kTypes,
  kQuestions,
  kFills,
  kAllocators,
  kDTypes,
  kNumSlots,
};

inline constexpr std::ptrdiff_t kMaxItems = 8;

// A tuple's items.
struct PythonItems {
  DgPyObject* at[kMaxItems] = {};
  std::ptrdiff_t size = 0;

  DgPyObject* const* begin() const { return at; }
  DgPyObject* const* end() const { return at + size; }
};

struct PythonState {
  const DlExchange* exchange = nullptr;
  DgPyObject* slots[kNumSlots] = {};  // owned, for good
  PythonItems items[kNumSlots];
};

// Set once by eager_start, with Python held, before any call.
extern PythonState python_state;

// Each of them answers 0, False or None; an error is no such answer.
bool are_no(PythonSlot questions);

// The memory and shape of a tensor of torch's, without taking a reference.
bool borrow(DgPyObject* object, DlTensor& tensor);

// The arguments of an operator, read one after the other.
class EagerArguments {
 public:
  explicit EagerArguments(const EagerOperator& op);

  bool add(DgPyObject* object);
  // A tuple of `size` stands for what is in it: a pair of data and scale, a recipe.
  // Why no list: another thread may take its tensors away while the kernel is launched.
  bool add_tuple(DgPyObject* object, std::ptrdiff_t size);
  bool are_complete() const { return size_ == op_.num_arguments; }
  const EagerValue* data() const { return reinterpret_cast<const EagerValue*>(storage_); }

 private:
  const EagerOperator& op_;
  const bool may_need_grad_;
  std::size_t size_ = 0;
  // Not an array of values, which would clear all of them first.
  alignas(EagerValue) std::byte storage_[kMaxEagerArguments * sizeof(EagerValue)];
};

}  // namespace deep_gemm
