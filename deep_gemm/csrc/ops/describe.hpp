// A call described in text, as control.h defines it:
// "op=fp8_gemm_nt\na=float8_e4m3fn:64x256:256x1\n".
//   const Description call = parse_description(arguments, keys);     // throws InvalidArgument
//   const TensorFacts a = call.tensor("a");
// For every family of operators. Leaves what a call needs to the families (../described.hpp).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <deep_gemm/csrc/problem/tensor_facts.hpp>

namespace deep_gemm::ops {

using Arguments = std::map<std::string, std::string, std::less<>>;

Arguments parse_arguments(std::string_view text);

struct Description {
  std::string op;
  std::string arch;       // empty: of this machine
  TensorFacts placement;  // where the call would run: device and index
  Arguments arguments;

  bool has(std::string_view key) const;
  TensorFacts tensor(std::string_view key) const;
  std::optional<TensorFacts> optional_tensor(std::string_view key) const;
  std::int64_t number(std::string_view key, std::int64_t otherwise = 0) const;
  std::optional<std::vector<std::int64_t>> numbers(std::string_view key) const;  // "512x256"
};

// `keys` beside op, device and arch.
Description parse_description(const Arguments& arguments,
                              const std::vector<std::string_view>& keys);

}  // namespace deep_gemm::ops
