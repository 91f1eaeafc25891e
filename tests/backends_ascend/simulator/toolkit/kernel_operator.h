// The stand-in for CANN's header of this name, for kernels that the simulator runs: the words of
// the language, the index of a block, and how arguments lie in their block.
//
//   #include "kernel_operator.h"
//   extern "C" __global__ __vector__ void add(__gm__ float* out, int n) { ... }
//   AscendC::GetBlockIdx(), AscendC::GetBlockNum(), SimTrap()
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __global__ __attribute__((visibility("default"), used))
#define __aicore__
#define __vector__
#define __cube__
#define __mix__(cubes, vectors)
#define __gm__

struct SimBlock {
  uint32_t index, count, core;
  int32_t trapped;
};

inline SimBlock*& sim_block() {
  static thread_local SimBlock* block = nullptr;
  return block;
}

// A fault of the kernel, as an address that does not exist would be.
inline void SimTrap() { sim_block()->trapped = 1; }
// Of a mix kernel: 1 in its cube half, 2 in its vector half.
inline unsigned SimCore() { return sim_block()->core; }

namespace AscendC {
inline int64_t GetBlockIdx() { return sim_block()->index; }
inline int64_t GetBlockNum() { return sim_block()->count; }
}  // namespace AscendC

// The device's view of the argument block, written apart from the product's: in order, each at its
// own alignment and at least 4, the whole a multiple of 8.
class SimReader {
 public:
  explicit SimReader(const void* block) : block_(static_cast<const char*>(block)) {}
  template <class T>
  T next() {
    T value;
    memcpy(&value, block_ + place<T>(), sizeof value);
    return value;
  }
  template <class T>
  size_t place() {
    const size_t step = alignof(T) > 4 ? alignof(T) : 4;
    while (at_ % step != 0) ++at_;
    const size_t here = at_;
    at_ += sizeof(T);
    return here;
  }
  size_t whole() const { return (at_ + 7) & ~size_t{7}; }

 private:
  const char* block_;
  size_t at_ = 0;
};

template <class... P>
struct SimArguments {
  static void call(void (*kernel)(P...), SimBlock* block, const void* args) {
    sim_block() = block;
    SimReader reader(args);
    // Braces, so that arguments are read from left to right.
    struct Values {
      void (*kernel)(P...);
      Values(void (*function)(P...), P... values) : kernel(function) { kernel(values...); }
    };
    Values{kernel, reader.template next<P>()...};
  }
  static void gather(void* const* args, void* block) {
    SimReader places(nullptr);
    size_t i = 0;
    (void)i, (void)args, (void)block;
    (memcpy(static_cast<char*>(block) + places.template place<P>(), args[i++], sizeof(P)), ...);
  }
  static unsigned long bytes() {
    SimReader places(nullptr);
    ((void)places.template place<P>(), ...);
    return places.whole();
  }
};
template <class... P>
SimArguments<P...> sim_arguments(void (*)(P...)) {
  return {};
}

#define SIM_ENTRIES(name)                                                                     \
  extern "C" __attribute__((visibility("default"))) void sim_call_##name(SimBlock* block,     \
                                                                         const void* args) {  \
    decltype(sim_arguments(&name))::call(&name, block, args);                                 \
  }                                                                                           \
  extern "C" __attribute__((visibility("default"))) void sim_gather_##name(void* const* args, \
                                                                           void* block) {     \
    decltype(sim_arguments(&name))::gather(args, block);                                      \
  }                                                                                           \
  extern "C" __attribute__((visibility("default"))) unsigned long sim_bytes_##name() {        \
    return decltype(sim_arguments(&name))::bytes();                                           \
  }

#include "sim_tensors.h"
