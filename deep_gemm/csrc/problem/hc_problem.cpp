#include <deep_gemm/csrc/problem/hc_problem.hpp>

#include <deep_jit/utils/str.hpp>

namespace deep_gemm {

std::uint64_t HcProblem::hash() const {
  std::uint64_t seed = 0;
  for (const std::int64_t value :
       {m, n, k, splits, a_stride, b_stride, std::int64_t{alignment}, std::int64_t{is_meta}}) {
    std::uint64_t x = seed ^ (static_cast<std::uint64_t>(value) + 0x9E3779B97F4A7C15ull +
                              (seed << 6) + (seed >> 2));
    x *= 0xBF58476D1CE4E5B9ull;
    seed = x ^ (x >> 31);
  }
  return seed;
}

std::string HcProblem::to_string() const {
  return deep_jit::str::format("m{} n{} k{} splits {} bf16 x tf32 -> f32", m, n, k, splits);
}

}  // namespace deep_gemm
