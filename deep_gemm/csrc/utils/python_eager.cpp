#include <deep_gemm/csrc/utils/python_eager.hpp>

#include <cstdint>

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <deep_gemm/csrc/utils/eager_call.hpp>
#include <deep_gemm/csrc/utils/python_args.hpp>
#include <deep_gemm/csrc/utils/state.hpp>

namespace deep_gemm {
namespace {

// The first argument of a call: the operator's index, then for each of the others the size of the
// tuple that it must be, or 0.
constexpr int kIndexBits = 8, kSizeBits = 3;
constexpr long long kIndexMask = (1 << kIndexBits) - 1, kSizeMask = (1 << kSizeBits) - 1;

DgPyObject* pair_of(std::int64_t first, std::int64_t second) {
  DgPyObject* tuple = PyTuple_New(2);
  if (tuple == nullptr) return nullptr;
  PyTuple_SetItem(tuple, 0, PyLong_FromLongLong(first));  // takes the reference
  PyTuple_SetItem(tuple, 1, PyLong_FromLongLong(second));
  return tuple;
}

class PythonCall final : public ReturningCall {
 public:
  PythonCall() : ReturningCall(true) {}
  PythonCall(const PythonCall&) = delete;
  ~PythonCall() override {
    hold_again();
    if (result_ != nullptr) Py_DecRef(result_);
  }

  // With torch's own functions, so that the result is what the operator would have returned.
  void* allocate(const NewMatrix& m, const TensorFacts& like) override {
    const bool is_cuda = like.device == DeviceKind::Cuda;
    std::int32_t current = 0;
    if (is_cuda &&
        (aoti_torch_get_current_device_index(&current) != 0 || current != like.device_index))
      return nullptr;  // It allocates on the current device.
    const PythonItems& allocators = python_state.items[kAllocators];
    if (allocators.size != kNumAllocators || !are_no(kFills)) return nullptr;
    result_ = allocated(allocators.at[is_cuda ? kEmptyCuda : kEmptyCpu], m);
    if (result_ != nullptr && !m.is_plain()) {
      DgPyObject* const whole = result_;
      DgPyObject* const sizes = pair_of(m.rows, m.columns);
      DgPyObject* const strides = pair_of(m.stride, 1);
      result_ =
          PyObject_CallFunctionObjArgs(allocators.at[kReinterpret], whole, sizes, strides, nullptr);
      for (DgPyObject* object : {whole, sizes, strides}) Py_DecRef(object);
    }
    DlTensor t{};
    if (result_ == nullptr) {
      PyErr_Clear();
      return nullptr;
    }
    return borrow(result_, t) ? static_cast<char*>(t.data) + t.byte_offset : nullptr;
  }

  void launching() override { released_ = PyEval_SaveThread(); }
  void hold_again() {
    if (released_ != nullptr) PyEval_RestoreThread(released_);
    released_ = nullptr;
  }
  // A new reference; None for an operator that returns nothing.
  DgPyObject* take_result() {
    DgPyObject* const result = result_;
    result_ = nullptr;
    if (result != nullptr) return result;
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
  }

 private:
  enum Allocator : std::ptrdiff_t { kEmptyCpu, kEmptyCuda, kReinterpret, kNumAllocators };

  static DgPyObject* allocated(DgPyObject* function, const NewMatrix& m) {
    const std::ptrdiff_t dtype = m.dtype == DType::Float32 ? 0 : m.dtype == DType::BFloat16 ? 1 : 2;
    DgPyObject* const sizes = pair_of(m.stored_rows, m.stride);
    DgPyObject* const strides = pair_of(m.stride, 1);
    DgPyObject* const result = PyObject_CallFunctionObjArgs(
        function, sizes, strides, python_state.items[kDTypes].at[dtype], nullptr);
    Py_DecRef(sizes);
    Py_DecRef(strides);
    return result;
  }

  DgPyObject* result_ = nullptr;
  void* released_ = nullptr;  // the thread's state, while it is given back
};

// Null: stepped aside, with no error set.
DgPyObject* call(DgPyObject* const* arguments, std::ptrdiff_t count) {
  if (python_state.exchange == nullptr || count < 1 || arguments[0]->type != &PyLong_Type)
    return nullptr;
  long long form = PyLong_AsLongLong(arguments[0]);
  const EagerOperator* op = form < 0 ? nullptr : eager_operator_at(form & kIndexMask);
  if (op == nullptr) return nullptr;
  form >>= kIndexBits;
  // Check mode synchronises and explains: the operator's work.
  if (current_knobs().check != 0 || !are_no(kQuestions)) return nullptr;
  EagerArguments values(*op);
  for (std::ptrdiff_t i = 1; i < count; ++i, form >>= kSizeBits) {
    const long long size = form & kSizeMask;
    if (!(size == 0 ? values.add(arguments[i]) : values.add_tuple(arguments[i], size)))
      return nullptr;
  }
  if (!values.are_complete()) return nullptr;
  PythonCall answer;
  try {
    if (!op->function(answer, values.data())) return nullptr;
  } catch (...) {
    return nullptr;  // The operator finds the same, and says it.
  }
  answer.hold_again();
  return answer.take_result();
}

DgPyObject* eager(DgPyObject*, DgPyObject* const* arguments, std::ptrdiff_t count) {
  DgPyObject* const result = call(arguments, count);
  if (result != nullptr) return result;
  Py_IncRef(&_Py_NotImplementedStruct);
  return &_Py_NotImplementedStruct;
}

DgPyObject* eager_index(DgPyObject*, DgPyObject* name) {
  std::ptrdiff_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(name, &size);
  if (text == nullptr) return nullptr;
  return PyLong_FromLong(eager_index_of({text, static_cast<std::size_t>(size)}));
}

DgPyObject* eager_start(DgPyObject*, DgPyObject* const* arguments, std::ptrdiff_t count) {
  if (count != kNumSlots || python_state.exchange != nullptr)
    return PyBool_FromLong(python_state.exchange != nullptr);
  const auto* exchange =
      static_cast<const DlExchange*>(PyCapsule_GetPointer(arguments[kExchange], kCapsuleName));
  while (exchange != nullptr && exchange->major != kDlMajor) exchange = exchange->previous;
  bool is_given = exchange != nullptr && exchange->borrow != nullptr;
  for (const PythonSlot tuple : {kTypes, kQuestions, kFills, kAllocators, kDTypes})
    is_given = is_given && PyTuple_Size(arguments[tuple]) >= 0 &&
               PyTuple_Size(arguments[tuple]) <= kMaxItems;
  if (!is_given) {
    PyErr_Clear();
    return PyBool_FromLong(0);
  }
  for (std::ptrdiff_t i = 0; i < kNumSlots; ++i) {
    Py_IncRef(arguments[i]);
    python_state.slots[i] = arguments[i];
  }
  for (const PythonSlot tuple : {kTypes, kQuestions, kFills, kAllocators, kDTypes}) {
    PythonItems& items = python_state.items[tuple];
    items.size = PyTuple_Size(arguments[tuple]);
    for (std::ptrdiff_t i = 0; i < items.size; ++i)
      items.at[i] = PyTuple_GetItem(arguments[tuple], i);
  }
  python_state.exchange = exchange;
  return PyBool_FromLong(1);
}

}  // namespace

const DgMethodDef kPythonMethods[] = {
    {"eager", reinterpret_cast<void*>(&eager), kDgMethFastcall, nullptr},
    {"eager_start", reinterpret_cast<void*>(&eager_start), kDgMethFastcall, nullptr},
    {"eager_index", reinterpret_cast<void*>(&eager_index), kDgMethOneArgument, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace deep_gemm
