// A call described in text, as control.h defines it:
// "op=fp8_gemm_nt\na=float8_e4m3fn:64x256:256x1\n".
//   const Description call = parse_description(args);     // throws InvalidArgument by rule
//   const GemmProblem problem = check_description(call);   // the checks of a real call
// Leaves answers to control_queries.cpp.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <deep_gemm/csrc/ops/gemm_check.hpp>

namespace deep_gemm::ops {

using Arguments = std::map<std::string, std::string, std::less<>>;

Arguments parse_arguments(std::string_view text);
TensorFacts parse_tensor(std::string_view op, std::string_view name, std::string_view text,
                         std::string_view default_device);

struct Description {
  std::string op;
  GemmFacts facts;
  bool is_scaled = false;
  std::string arch;  // empty: of this machine
};

Description parse_description(const Arguments& arguments);
GemmProblem check_description(const Description& call);

}  // namespace deep_gemm::ops
