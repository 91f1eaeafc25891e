// tf32_hc_prenorm_gemm as plain facts: d[s,m,n] = a[m,k] @ tf32(b[n,k])^T over the part s of k, and
// the square sums of a's rows.
//   HcProblem p{.m = 4096, .n = 24, .k = 7168, .splits = 16, .a_stride = 7168, .b_stride = 7168};
//   p == q;  p.hash();  p.to_string();
// A value that ops/ made is valid. Leaves addresses to launch/.
#pragma once

#include <cstdint>
#include <string>

namespace deep_gemm {

struct HcProblem {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t splits = 1;                  // None is 1: only the rank of d differs
  std::int64_t a_stride = 0, b_stride = 0;  // rows, elements
  int alignment = 16;    // of the least aligned address among a, b and d; 16 at most
  bool is_meta = false;  // described, not given: nothing can be launched

  std::uint64_t hash() const;
  std::string to_string() const;
  friend bool operator==(const HcProblem&, const HcProblem&) = default;
};

}  // namespace deep_gemm
