// An argument that brings its own storage to a launch.
//
//   struct Scratch : deep_jit::NoRefPtr {};
//   Scratch scratch; scratch.ptr = &descriptor;
//   jit.launch(kernel, options, scratch);   // passes `ptr`, not the address of `scratch`
//
// Leaves packing of the other arguments to the back ends' kernel.hpp.
#pragma once

#include <type_traits>

#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {

struct NoRefPtr {
  void* ptr = nullptr;  // where the value of the argument lies; not owned
};

template <class T>
inline constexpr bool is_no_ref_ptr = std::is_base_of_v<NoRefPtr, std::remove_cvref_t<T>>;

}  // namespace DJ_HIDDEN deep_jit
