// REGISTER_EXTENSION(_C_extension): the entry that lets Python import the file.
// Hand-declared under the limited API: no Python header is needed. The operators are registered
// when the file is loaded, whoever loads it; importing adds the methods of python_eager.hpp alone.
// Leaves registering to registry.hpp.
#pragma once

#include <deep_gemm/csrc/utils/python_abi.h>
#include <deep_gemm/csrc/utils/python_eager.hpp>

#define REGISTER_EXTENSION(NAME)                                            \
  extern "C" __attribute__((visibility("default"))) void* PyInit_##NAME() { \
    static DgModuleDef definition = {{{1, nullptr}, nullptr, 0, nullptr},   \
                                     #NAME,                                 \
                                     nullptr,                               \
                                     -1,                                    \
                                     ::deep_gemm::kPythonMethods,           \
                                     nullptr,                               \
                                     nullptr,                               \
                                     nullptr,                               \
                                     nullptr};                              \
    if (PyModule_Create2 == nullptr) return nullptr;                        \
    return PyModule_Create2(&definition, kDgLimitedApi);                    \
  }
