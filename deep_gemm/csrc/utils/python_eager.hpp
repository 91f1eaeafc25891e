// Python's side of the eager shortcut: the methods of the extension module.
//   eager_start(exchange_api, Tensor.is_neg, 2, Tensor, Parameter, *questions)   # once
//   eager_index("fp8_gemm_nt")                                 # -1: has no shortcut
//   eager(index, a, a_scale, b, b_scale, d, None, 0, ...)      # True: launched; False: not handled
// Tensors are read through torch's DLPack exchange API: no torch header, no copy, no allocation.
#pragma once

#include <deep_gemm/csrc/utils/python_abi.h>

namespace deep_gemm {

extern const DgMethodDef kPythonMethods[];

}  // namespace deep_gemm
