// A call of indexer logits described in text (describe.hpp has the form).
//   if (is_logits(op)) { const LogitsDescription call = parse_logits_description(arguments); ... }
// Keys are the arguments of the schema; `width` is max_seqlen_k or max_context_len. Leaves answers
// to control_queries.cpp.
#pragma once

#include <deep_gemm/csrc/ops/describe.hpp>
#include <deep_gemm/csrc/ops/logits_check.hpp>

namespace deep_gemm::ops {

bool is_logits(std::string_view op);

struct LogitsDescription {
  std::string op;
  LogitsFacts facts;
  std::string arch;  // empty: of this machine
};

LogitsDescription parse_logits_description(const Arguments& arguments);
LogitsProblem check_description(const LogitsDescription& call);

}  // namespace deep_gemm::ops
