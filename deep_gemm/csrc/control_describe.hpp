// The questions about a described call: would it run, and how.
//   answers::supports(arguments);  answers::plan(arguments);
// Leaves what each operator needs to described_<stem>.cpp.
#pragma once

#include <deep_gemm/csrc/ops/describe.hpp>
#include <deep_jit/utils/json.hpp>

namespace deep_gemm::answers {

deep_jit::json supports(const ops::Arguments& arguments);
deep_jit::json plan(const ops::Arguments& arguments);

}  // namespace deep_gemm::answers
