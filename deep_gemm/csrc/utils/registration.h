// REGISTER_EXTENSION(_C_extension): the entry that lets Python import the file, which does nothing.
// Hand-declared under the limited API: no Python header is needed, and the operators are registered
// when the file is loaded, whoever loads it. Leaves that to registry.hpp.
#pragma once

#define REGISTER_EXTENSION(NAME)                                                               \
  extern "C" {                                                                                 \
  struct DgModuleDef {                                                                         \
    struct {                                                                                   \
      struct {                                                                                 \
        long long refcount;                                                                    \
        void* type;                                                                            \
      } object;                                                                                \
      void* init;                                                                              \
      long long index;                                                                         \
      void* copy;                                                                              \
    } base;                                                                                    \
    const char* name;                                                                          \
    const char* doc;                                                                           \
    long long size;                                                                            \
    void *methods, *slots, *traverse, *clear, *free;                                           \
  };                                                                                           \
  __attribute__((weak)) void* PyModule_Create2(DgModuleDef*, int);                             \
  __attribute__((visibility("default"))) void* PyInit_##NAME() {                               \
    static DgModuleDef definition = {{{1, nullptr}, nullptr, 0, nullptr},                      \
                                     #NAME,                                                    \
                                     nullptr,                                                  \
                                     -1,                                                       \
                                     nullptr,                                                  \
                                     nullptr,                                                  \
                                     nullptr,                                                  \
                                     nullptr,                                                  \
                                     nullptr};                                                 \
    constexpr int kLimitedApi = 3;                                                             \
    return PyModule_Create2 == nullptr ? nullptr : PyModule_Create2(&definition, kLimitedApi); \
  }                                                                                            \
  }
