// REGISTER_EXTENSION(_C_extension): the entry that lets Python import the file, which does nothing.
// REGISTER_EXTENSION_WITH(NAME, methods): the same, and the module has these functions.
// Hand-declared under the limited API: no Python header is needed. Operators are registered when
// the file is loaded, whoever loads it: registry.hpp.
#pragma once

#include <deep_gemm/csrc/utils/python_abi.h>

#define REGISTER_EXTENSION(NAME) REGISTER_EXTENSION_WITH(NAME, nullptr)

#define REGISTER_EXTENSION_WITH(NAME, METHODS)                              \
  extern "C" __attribute__((visibility("default"))) void* PyInit_##NAME() { \
    static DgModuleDef definition = {{{1, nullptr}, nullptr, 0, nullptr},   \
                                     #NAME,                                 \
                                     nullptr,                               \
                                     -1,                                    \
                                     METHODS,                               \
                                     nullptr,                               \
                                     nullptr,                               \
                                     nullptr,                               \
                                     nullptr};                              \
    if (PyModule_Create2 == nullptr) return nullptr;                        \
    return PyModule_Create2(&definition, kDgLimitedApi);                    \
  }
