// bf16_mega_gate as plain facts: router logits of every token, and the experts that they choose.
//   GateProblem p{.rows = 4096, .hidden = 7168, .experts = 256, .topk = 8};
//   p == q;  p.hash();  p.to_string();
// A value that ops/ made is valid. Leaves addresses to launch/, and the product that makes the
// logits to gemm_problem.
#pragma once

#include <cstdint>
#include <string>

namespace deep_gemm {

struct GateProblem {
  std::int64_t rows = 0, hidden = 0;
  int experts = 0, topk = 0;
  int max_copies = 0;                                    // of an expert; 0: ids are not mapped
  int fixed_words = 1, map_words = 1, copies_words = 1;  // of int32 and int64 ids
  bool is_meta = false;  // described, not given: nothing can be launched

  std::uint64_t hash() const;
  std::string to_string() const;
  friend bool operator==(const GateProblem&, const GateProblem&) = default;
};

}  // namespace deep_gemm
