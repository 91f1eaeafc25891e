#include <deep_gemm/csrc/utils/python_eager.hpp>

#include <cstdint>

#include <deep_gemm/csrc/utils/eager_call.hpp>
#include <deep_gemm/csrc/utils/state.hpp>

namespace deep_gemm {
namespace {

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
constexpr std::uint32_t kDlMajor = 1;
constexpr std::int32_t kDlCuda = 2;
constexpr const char* kCapsuleName = "dlpack_exchange_api";

constexpr int kMaxTypes = 4, kMaxQuestions = 4;

// Set once by eager_start, under the GIL, before any call.
struct State {
  const DlExchange* exchange = nullptr;
  DgPyObject* is_negative = nullptr;  // DLPack does not tell that values are stored negated
  DgPyObject* types[kMaxTypes] = {};
  int num_types = 0;
  DgPyObject* questions[kMaxQuestions] = {};  // step aside unless each answers 0, False or None
  int num_questions = 0;
};
State state;

DType dtype_of(const DlTensor& t) {
  if (t.lanes != 1) return DType::Other;
  switch (t.code << 8 | t.bits) {
    case 0 << 8 | 8:
      return DType::Int8;
    case 0 << 8 | 16:
      return DType::Int16;
    case 0 << 8 | 32:
      return DType::Int32;
    case 0 << 8 | 64:
      return DType::Int64;
    case 1 << 8 | 8:
      return DType::UInt8;
    case 2 << 8 | 32:
      return DType::Float32;
    case 4 << 8 | 16:
      return DType::BFloat16;
    case 10 << 8 | 8:
      return DType::Float8E4m3;
    default:
      return DType::Other;
  }
}

// Takes the reference. An error is no "no".
bool is_no(DgPyObject* answer) {
  if (answer == nullptr) {
    PyErr_Clear();
    return false;
  }
  const bool is_number = answer->type == &PyBool_Type || answer->type == &PyLong_Type;
  const bool no = answer == &_Py_NoneStruct || (is_number && PyLong_AsLongLong(answer) == 0);
  Py_DecRef(answer);
  return no;
}

bool read_tensor(DgPyObject* object, TensorFacts& facts) {
  DlTensor t{};
  if (state.exchange->borrow(object, &t) != 0) {
    PyErr_Clear();
    return false;
  }
  if (t.device_type != kDlCuda || t.rank > kMaxRank) return false;
  facts.dtype = dtype_of(t);
  facts.device = DeviceKind::Cuda;
  facts.device_index = t.device_index;
  facts.rank = t.rank;
  for (int i = 0; i < t.rank; ++i) {
    facts.sizes[static_cast<std::size_t>(i)] = t.sizes[i];
    facts.strides[static_cast<std::size_t>(i)] = t.strides[i];
  }
  facts.address = reinterpret_cast<std::uint64_t>(t.data) + t.byte_offset;
  if (facts.dtype == DType::Float32 &&
      !is_no(PyObject_CallFunctionObjArgs(state.is_negative, object, nullptr)))
    return false;
  return facts.dtype != DType::Other;
}

bool is_tensor(const DgPyObject* object) {
  for (int i = 0; i < state.num_types; ++i)
    if (object->type == state.types[i]) return true;
  return false;
}

bool read(DgPyObject* object, EagerValue& value) {
  if (is_tensor(object)) {
    value.kind = EagerValue::Kind::Tensor;
    return read_tensor(object, value.facts);
  }
  if (object == &_Py_NoneStruct) return true;
  if (object->type == &PyFloat_Type) {
    value.kind = EagerValue::Kind::Float;
    value.number = PyFloat_AsDouble(object);
    return true;
  }
  // A subclass may mean anything, a SymInt least of all a number.
  if (object->type != &PyLong_Type && object->type != &PyBool_Type) return false;
  value.kind = EagerValue::Kind::Int;
  value.integer = PyLong_AsLongLong(object);
  if (value.integer != -1 || PyErr_Occurred() == nullptr) return true;
  PyErr_Clear();
  return false;
}

// Whether torch is in a mode in which an operator must be seen by its dispatcher.
bool must_step_aside() {
  for (int i = 0; i < state.num_questions; ++i)
    if (!is_no(PyObject_CallNoArgs(state.questions[i]))) return true;
  return false;
}

bool call(DgPyObject* const* arguments, std::ptrdiff_t count) {
  if (state.exchange == nullptr || count < 1) return false;
  const auto size = static_cast<std::size_t>(count - 1);
  if (size > kMaxEagerArguments || arguments[0]->type != &PyLong_Type) return false;
  const EagerFunction function =
      eager_function_at(static_cast<int>(PyLong_AsLongLong(arguments[0])));
  // Check mode synchronises and explains: the operator's work.
  if (function == nullptr || current_knobs().check != 0 || must_step_aside()) return false;
  EagerValue values[kMaxEagerArguments];
  for (std::size_t i = 0; i < size; ++i)
    if (!read(arguments[i + 1], values[i])) return false;
  try {
    return function(EagerArguments(values, size));
  } catch (...) {
    return false;  // The operator finds the same, and says it.
  }
}

DgPyObject* eager(DgPyObject*, DgPyObject* const* arguments, std::ptrdiff_t count) {
  return PyBool_FromLong(call(arguments, count) ? 1 : 0);
}

DgPyObject* eager_index(DgPyObject*, DgPyObject* name) {
  std::ptrdiff_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(name, &size);
  if (text == nullptr) return nullptr;
  return PyLong_FromLong(eager_index_of({text, static_cast<std::size_t>(size)}));
}

// (capsule, Tensor.is_neg, number of types, types..., questions...)
DgPyObject* eager_start(DgPyObject*, DgPyObject* const* arguments, std::ptrdiff_t count) {
  const auto refuse = [] {
    PyErr_Clear();
    return PyBool_FromLong(0);
  };
  if (count < 4 || state.exchange != nullptr) return PyBool_FromLong(state.exchange != nullptr);
  const auto* exchange =
      static_cast<const DlExchange*>(PyCapsule_GetPointer(arguments[0], kCapsuleName));
  while (exchange != nullptr && exchange->major != kDlMajor) exchange = exchange->previous;
  if (exchange == nullptr || exchange->borrow == nullptr) return refuse();
  const std::ptrdiff_t num_types = PyLong_AsLongLong(arguments[2]);
  const std::ptrdiff_t num_questions = count - 3 - num_types;
  if (num_types < 1 || num_types > kMaxTypes || num_questions < 0 || num_questions > kMaxQuestions)
    return refuse();
  for (std::ptrdiff_t i = 0; i < count - 3; ++i) {
    DgPyObject* object = arguments[i + 3];
    Py_IncRef(object);
    if (i < num_types) {
      state.types[state.num_types++] = object;
    } else {
      state.questions[state.num_questions++] = object;
    }
  }
  Py_IncRef(arguments[1]);
  state.is_negative = arguments[1];
  state.exchange = exchange;
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
