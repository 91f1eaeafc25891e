// Values and shared-library functions that are made at their first use.
//
//   LazyInit<Runtime> jit([] { return std::make_shared<Runtime>(config); });
//   jit->compile(...);                                   // the factory runs here, once
//   DJ_DECL_LAZY_DL_HANDLE(get_libfoo, "libfoo.so.1")    // inline void* get_libfoo()
//   DJ_DECL_LAZY_DL_FUNCTION(get_libfoo, foo_init)       // lazy_foo_init(...), declared in foo.h
//
// Thread-safe; waiters release the GIL. A factory that throws is run again at the next use.
// Leaves names of drivers and libraries to the back ends.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/gil.hpp>
#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {

// Copies share one value.
template <class T>
class LazyInit {
 public:
  LazyInit(std::nullptr_t) : state_(std::make_shared<State>()) {}

  template <class Factory>
    requires(std::is_invocable_r_v<std::shared_ptr<T>, Factory&>)
  explicit LazyInit(Factory factory) : state_(std::make_shared<State>()) {
    state_->factory = std::move(factory);
  }

  T* operator->() const { return &ready(); }
  T& operator*() const { return ready(); }
  std::shared_ptr<T> get() const {
    ready();
    return state_->value;
  }
  bool is_ready() const { return state_->pointer.load(std::memory_order_acquire) != nullptr; }

 private:
  struct State {
    std::atomic<T*> pointer{nullptr};
    std::mutex mutex;
    std::function<std::shared_ptr<T>()> factory;
    std::shared_ptr<T> value;  // written once, before `pointer`
  };

  T& ready() const {
    T* pointer = state_->pointer.load(std::memory_order_acquire);
    return pointer != nullptr ? *pointer : make();
  }

  T& make() const {
    State& state = *state_;
    std::unique_lock<std::mutex> guard(state.mutex, std::try_to_lock);
    if (!guard.owns_lock()) {
      // Hazard: the factory may want the GIL that this thread holds.
      const GilScopedRelease without_gil;
      guard.lock();
    }
    if (T* pointer = state.pointer.load(std::memory_order_relaxed)) return *pointer;
    DJ_HOST_ASSERT(state.factory, "LazyInit: used, but it was made from nullptr");
    auto value = state.factory();
    DJ_HOST_ASSERT(value != nullptr, "LazyInit: the factory returned nullptr");
    state.value = std::move(value);
    state.pointer.store(state.value.get(), std::memory_order_release);
    return *state.value;
  }

  std::shared_ptr<State> state_;
};

namespace detail {

inline void* open_library(const char* library) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    DJ_FAIL(kDevice,
            "dlopen: {}: given the loader's search path.\n"
            "  Rule LIBRARY_FOUND: {}.\n"
            "  Fix: install what provides it, or add its folder to LD_LIBRARY_PATH.",
            library, why == nullptr ? "it cannot be loaded" : why);
  }
  return handle;
}

inline void* find_symbol(void* handle, const char* symbol) {
  void* address = dlsym(handle, symbol);
  if (address == nullptr) {
    DJ_FAIL(kDevice,
            "dlsym: {}: given a library that lacks it.\n"
            "  Rule SYMBOL_FOUND: the library provides this function.\n"
            "  Fix: install a newer version of the library.",
            symbol);
  }
  return address;
}

}  // namespace detail
}  // namespace DJ_HIDDEN deep_jit

// Never closed: functions found in it may be called until the process ends.
#define DJ_DECL_LAZY_DL_HANDLE(fn, library)                                \
  inline void* fn() {                                                      \
    static void* const handle = ::deep_jit::detail::open_library(library); \
    return handle;                                                         \
  }

#define DJ_DECL_LAZY_DL_FUNCTION(fn, name)                                                 \
  template <class... Args>                                                                 \
  inline auto lazy_##name(Args&&... args) -> decltype(name(std::forward<Args>(args)...)) { \
    static const auto function =                                                           \
        reinterpret_cast<decltype(&name)>(::deep_jit::detail::find_symbol(fn(), #name));   \
    return function(std::forward<Args>(args)...);                                          \
  }
