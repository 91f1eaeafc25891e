// Python's side of the eager shortcut: the methods of the extension module.
//   eager_start(exchange_api, Tensor.is_neg, "requires_grad", types, questions,    # once, tuples
//               fills, (empty_cpu, empty_cuda, reinterpret), (float32, bfloat16, int32))
//   eager_index("fp8_gemm_nt")                             # -1: has no shortcut
//   eager(index, a, a_scale, b, b_scale, d, None, 0, ...)  # the result; NotImplemented: stepped
//                                                          # aside, nothing was done
//   eager(index | (2 | 2 << 3) << 8, (a, a_scale), (b, b_scale), d, ...)   # the same: tuples of
//   two
// `questions` answer 0, False or None where nothing needs to see operators, `fills` where memory is
// left as it comes. Tensors are read through torch's DLPack exchange API: no torch header, no copy,
// no allocation. Python is not held while a kernel is launched.
#pragma once

#include <deep_gemm/csrc/utils/python_abi.h>

namespace deep_gemm {

extern const DgMethodDef kPythonMethods[];

}  // namespace deep_gemm
