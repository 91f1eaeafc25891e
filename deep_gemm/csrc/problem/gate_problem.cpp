#include <deep_gemm/csrc/problem/gate_problem.hpp>

#include <deep_jit/utils/str.hpp>

namespace deep_gemm {

std::uint64_t GateProblem::hash() const {
  std::uint64_t seed = 4;
  for (const std::int64_t value :
       {rows, hidden, std::int64_t{experts}, std::int64_t{topk}, std::int64_t{max_copies},
        std::int64_t{fixed_words}, std::int64_t{map_words}, std::int64_t{copies_words},
        std::int64_t{is_meta}}) {
    std::uint64_t x = seed ^ (static_cast<std::uint64_t>(value) + 0x9E3779B97F4A7C15ull +
                              (seed << 6) + (seed >> 2));
    x *= 0xBF58476D1CE4E5B9ull;
    seed = x ^ (x >> 31);
  }
  return seed;
}

std::string GateProblem::to_string() const {
  return deep_jit::str::format("rows{} hidden{} experts{} topk{}{}", rows, hidden, experts, topk,
                               max_copies == 0 ? "" : " mapped");
}

}  // namespace deep_gemm
