// Lets other Python threads run while this one compiles or waits.
//
//   {
//     const GilScopedRelease without_gil;
//     compile();                       // no Python object may be touched here
//   }                                  // held again
//
// The three CPython functions are found by name in the process; when one is missing, or the GIL is
// not held, nothing happens. DJ_DISABLE_GIL=1 compiles it out. Leaves acquiring to nobody: there is
// no other Python in this library.
#pragma once

#include <deep_jit/utils/macros.hpp>

#ifndef DJ_DISABLE_GIL
#define DJ_DISABLE_GIL 0
#endif

#if !DJ_DISABLE_GIL
#include <dlfcn.h>
#endif

namespace DJ_HIDDEN deep_jit {

#if DJ_DISABLE_GIL

class GilScopedRelease {
 public:
  GilScopedRelease() {}
  ~GilScopedRelease() {}
  GilScopedRelease(const GilScopedRelease&) = delete;
  GilScopedRelease& operator=(const GilScopedRelease&) = delete;
};

#else

class GilScopedRelease {
 public:
  GilScopedRelease() noexcept {
    const Python& python = functions();
    if (python.is_complete() && python.is_held()) state_ = python.save_thread();
  }
  ~GilScopedRelease() {
    if (state_ != nullptr) functions().restore_thread(state_);
  }
  GilScopedRelease(const GilScopedRelease&) = delete;
  GilScopedRelease& operator=(const GilScopedRelease&) = delete;

 private:
  struct Python {
    int (*gil_state_check)() = nullptr;
    void* (*save_thread)() = nullptr;
    void (*restore_thread)(void*) = nullptr;
    // Two more that are only asked for their opinion; their absence is no obstacle.
    int (*is_initialized)() = nullptr;
    void* (*thread_state)() = nullptr;

    bool is_complete() const {
      return gil_state_check != nullptr && save_thread != nullptr && restore_thread != nullptr;
    }
    // Hazard: PyGILState_Check says yes before Py_Initialize and once a sub-interpreter exists;
    // PyEval_SaveThread without a thread state ends the process.
    bool is_held() const {
      if (is_initialized != nullptr && is_initialized() == 0) return false;
      if (thread_state != nullptr && thread_state() == nullptr) return false;
      return gil_state_check() == 1;
    }
  };

  template <class Function>
  static void look_up(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  }

  static Python find() {
    Python python;
    look_up(python.gil_state_check, "PyGILState_Check");
    look_up(python.save_thread, "PyEval_SaveThread");
    look_up(python.restore_thread, "PyEval_RestoreThread");
    look_up(python.is_initialized, "Py_IsInitialized");
    look_up(python.thread_state, "PyThreadState_GetUnchecked");
    if (python.thread_state == nullptr) look_up(python.thread_state, "_PyThreadState_UncheckedGet");
    return python;
  }

  static const Python& functions() {
    static const Python python = find();
    return python;
  }

  void* state_ = nullptr;
};

#endif

}  // namespace DJ_HIDDEN deep_jit
