// A library for test_gil.py: compiles one kernel, to be called with the GIL held.
#include <cstdio>
#include <exception>
#include <string>

#include <deep_jit/backend/host/backend.hpp>

extern "C" __attribute__((visibility("default"))) int compile_once(const char* root,
                                                                   const char* name) {
  try {
    deep_jit::Runtime<deep_jit::Host> jit(deep_jit::Config(root, "GILT"));
    jit.compile(name,
                std::string("extern \"C\" void ") + name + "(const void*, void* const*) {}\n");
    return static_cast<int>(jit.events.counters.compiles.load());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return -1;
  }
}
