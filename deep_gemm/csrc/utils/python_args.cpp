#include <deep_gemm/csrc/utils/python_args.hpp>

#include <new>

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

namespace deep_gemm {
namespace {

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
  const bool no = answer == &_Py_NoneStruct || answer == &_Py_FalseStruct ||
                  (answer->type == &PyLong_Type && PyLong_AsLongLong(answer) == 0);
  Py_DecRef(answer);
  return no;
}

bool read_tensor(DgPyObject* object, bool may_need_grad, TensorFacts& facts) {
  if (may_need_grad && !is_no(PyObject_GetAttr(object, python_state.slots[kRequiresGrad])))
    return false;
  DlTensor t{};
  if (!borrow(object, t) || t.rank > kMaxRank) return false;
  if (t.device_type != kDlCuda && t.device_type != kDlCpu) return false;
  facts.dtype = dtype_of(t);
  facts.device = t.device_type == kDlCuda ? DeviceKind::Cuda : DeviceKind::Cpu;
  if (facts.device == DeviceKind::Cuda) facts.device_index = t.device_index;
  facts.rank = t.rank;
  bool is_empty = false;
  for (int i = 0; i < t.rank; ++i) {
    facts.sizes[static_cast<std::size_t>(i)] = t.sizes[i];
    facts.strides[static_cast<std::size_t>(i)] = t.strides[i];
    is_empty = is_empty || t.sizes[i] == 0;
  }
  facts.address = reinterpret_cast<std::uint64_t>(t.data) + t.byte_offset;
  // No memory: a wrapper of something else, or a storage that was taken away.
  if (facts.dtype == DType::Other || (facts.address == 0 && !is_empty)) return false;
  // DLPack does not tell that values are stored negated.
  return facts.dtype != DType::Float32 ||
         is_no(PyObject_CallFunctionObjArgs(python_state.slots[kIsNegative], object, nullptr));
}

bool is_tensor(const DgPyObject* object) {
  for (const DgPyObject* type : python_state.items[kTypes])
    if (object->type == type) return true;
  return false;
}

// A subclass of a number may mean anything, a SymInt least of all a number.
bool read(DgPyObject* object, ArgumentType type, bool may_need_grad, EagerValue& value) {
  if (object == &_Py_NoneStruct) {
    value.is_none = true;
    return type.is_optional;
  }
  switch (type.kind) {
    case ArgumentType::Kind::Tensor:
      return is_tensor(object) && read_tensor(object, may_need_grad, value.facts);
    case ArgumentType::Kind::Bool:
      value.integer = object == &_Py_TrueStruct ? 1 : 0;
      return object->type == &PyBool_Type;
    case ArgumentType::Kind::Float:
      if (object->type == &PyFloat_Type) {
        value.number = PyFloat_AsDouble(object);
        return true;
      }
      [[fallthrough]];
    case ArgumentType::Kind::Int:
      if (object->type != &PyLong_Type) return false;
      value.integer = PyLong_AsLongLong(object);
      value.number = static_cast<double>(value.integer);
      if (value.integer != -1 || PyErr_Occurred() == nullptr) return true;
      PyErr_Clear();
      return false;
    case ArgumentType::Kind::Text: {
      if (object->type != &PyUnicode_Type) return false;
      std::ptrdiff_t size = 0;
      const char* text = PyUnicode_AsUTF8AndSize(object, &size);
      if (text == nullptr) {
        PyErr_Clear();
        return false;
      }
      value.text = {text, static_cast<std::size_t>(size)};
      return true;
    }
    case ArgumentType::Kind::Other:
      return false;
  }
  return false;
}

}  // namespace

PythonState python_state;

bool are_no(PythonSlot questions) {
  for (DgPyObject* question : python_state.items[questions])
    if (!is_no(PyObject_CallNoArgs(question))) return false;
  return true;
}

bool borrow(DgPyObject* object, DlTensor& t) {
  if (python_state.exchange->borrow(object, &t) == 0) return true;
  PyErr_Clear();
  return false;
}

EagerArguments::EagerArguments(const EagerOperator& op)
    : op_(op), may_need_grad_(aoti_torch_grad_mode_is_enabled()) {}

bool EagerArguments::add(DgPyObject* object) {
  if (size_ >= op_.num_arguments) return false;
  auto* const value = new (storage_ + size_ * sizeof(EagerValue)) EagerValue;
  return read(object, op_.types[size_++], may_need_grad_, *value);
}

bool EagerArguments::add_tuple(DgPyObject* object, std::ptrdiff_t size) {
  if (object->type != &PyTuple_Type || PyTuple_Size(object) != size) return false;
  for (std::ptrdiff_t i = 0; i < size; ++i)
    if (!add(PyTuple_GetItem(object, i))) return false;
  return true;
}

}  // namespace deep_gemm
