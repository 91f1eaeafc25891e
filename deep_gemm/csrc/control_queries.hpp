// The answers to dg_query, one function a question; control.h says what each takes and gives.
//   deep_jit::json answer = answer_query("counters", "");   // throws deep_jit's Exception
// Leaves the C interface to control.cpp.
#pragma once

#include <string_view>

#include <deep_jit/utils/json.hpp>

namespace deep_gemm {

deep_jit::json answer_query(std::string_view what, std::string_view args);

}  // namespace deep_gemm
