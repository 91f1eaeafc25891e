// The answers behind dg_query that have a file of their own; control_queries.cpp is their table.
#pragma once

#include <deep_jit/utils/json.hpp>

#include <deep_gemm/csrc/ops/describe.hpp>

namespace deep_gemm::answers {

using deep_jit::json;
using ops::Arguments;

json doctor(const Arguments& arguments);
json precompile(const Arguments& arguments);

json cache_list(const Arguments& arguments);
json cache_verify(const Arguments& arguments);
json cache_prune(const Arguments& arguments);
json cache_pack(const Arguments& arguments);
json cache_unpack(const Arguments& arguments);

// Empty where the key is absent.
std::string value_of(const Arguments& arguments, const char* key);
// Refuses by KNOWN_KEY what is not among `keys`.
void require_keys(std::string_view query, const Arguments& arguments,
                  const std::vector<std::string_view>& keys);

}  // namespace deep_gemm::answers
