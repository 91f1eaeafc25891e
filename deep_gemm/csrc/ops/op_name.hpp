// The name of an operator as a template value, so that one function serves several names.
//   template <OpName kOp> void fp8_gemm(...);      // kOp.text
#pragma once

#include <cstddef>

namespace deep_gemm::ops {

template <std::size_t N>
struct OpName {
  constexpr OpName(const char (&name)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = name[i];
  }
  char text[N];
};

}  // namespace deep_gemm::ops
