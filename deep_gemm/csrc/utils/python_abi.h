// The few functions of CPython's limited API (3.10) that the module uses, declared by hand:
// building needs no Python.h, and a process without Python loads the file as well, with these null.
#pragma once

#include <cstddef>

extern "C" {

// The start of every object; the limited API promises no more, and no less.
struct DgPyObject {
  long long refcount;
  DgPyObject* type;
};

struct DgMethodDef {
  const char* name;
  void* function;
  int flags;
  const char* doc;
};

struct DgModuleDef {
  struct {
    DgPyObject object;
    void* init;
    long long index;
    void* copy;
  } base;
  const char* name;
  const char* doc;
  long long size;
  const DgMethodDef* methods;
  void *slots, *traverse, *clear, *free;
};

__attribute__((weak)) DgPyObject* PyModule_Create2(DgModuleDef*, int);
__attribute__((weak)) const char* PyUnicode_AsUTF8AndSize(DgPyObject*, std::ptrdiff_t*);
__attribute__((weak)) void* PyCapsule_GetPointer(DgPyObject*, const char*);
__attribute__((weak)) DgPyObject* PyObject_CallNoArgs(DgPyObject*);
__attribute__((weak)) DgPyObject* PyObject_GetAttr(DgPyObject*, DgPyObject*);
__attribute__((weak)) DgPyObject* PyObject_CallFunctionObjArgs(DgPyObject*, ...);
__attribute__((weak)) DgPyObject* PyBool_FromLong(long);
__attribute__((weak)) DgPyObject* PyLong_FromLong(long);
__attribute__((weak)) DgPyObject* PyLong_FromLongLong(long long);
__attribute__((weak)) long long PyLong_AsLongLong(DgPyObject*);
__attribute__((weak)) DgPyObject* PyTuple_New(std::ptrdiff_t);
__attribute__((weak)) int PyTuple_SetItem(DgPyObject*, std::ptrdiff_t, DgPyObject*);
__attribute__((weak)) DgPyObject* PyTuple_GetItem(DgPyObject*, std::ptrdiff_t);
__attribute__((weak)) std::ptrdiff_t PyTuple_Size(DgPyObject*);
__attribute__((weak)) double PyFloat_AsDouble(DgPyObject*);
__attribute__((weak)) DgPyObject* PyErr_Occurred();
__attribute__((weak)) void PyErr_Clear();
__attribute__((weak)) void* PyEval_SaveThread();
__attribute__((weak)) void PyEval_RestoreThread(void*);
__attribute__((weak)) void Py_IncRef(DgPyObject*);
__attribute__((weak)) void Py_DecRef(DgPyObject*);
extern __attribute__((weak)) DgPyObject _Py_NoneStruct;
extern __attribute__((weak)) DgPyObject _Py_NotImplementedStruct;
extern __attribute__((weak)) DgPyObject _Py_TrueStruct;
extern __attribute__((weak)) DgPyObject _Py_FalseStruct;
extern __attribute__((weak)) DgPyObject PyFloat_Type;
extern __attribute__((weak)) DgPyObject PyLong_Type;
extern __attribute__((weak)) DgPyObject PyBool_Type;
extern __attribute__((weak)) DgPyObject PyTuple_Type;
extern __attribute__((weak)) DgPyObject PyUnicode_Type;

}  // extern "C"

inline constexpr int kDgLimitedApi = 3;
inline constexpr int kDgMethFastcall = 0x0080;
inline constexpr int kDgMethOneArgument = 0x0008;
