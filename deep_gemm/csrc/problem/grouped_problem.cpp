#include <deep_gemm/csrc/problem/grouped_problem.hpp>

#include <deep_jit/utils/str.hpp>

namespace deep_gemm {
namespace {

template <class... T>
std::uint64_t mix_all(std::uint64_t seed, T... values) {
  const auto mix = [&seed](std::uint64_t value) {
    seed ^= value + 0x9E3779B97F4A7C15ull + (seed << 6) + (seed >> 2);
    seed *= 0xBF58476D1CE4E5B9ull;
    seed ^= seed >> 31;
  };
  (mix(static_cast<std::uint64_t>(values)), ...);
  return seed;
}

}  // namespace

std::uint64_t GroupedProblem::hash() const {
  return mix_all(gemm.hash(), grouping, num_groups, a_group, b_group, a_scale_group, b_scale_group,
                 d_group, alignment, zero_padding, is_flat, scales_aligned);
}

std::string GroupedProblem::to_string() const {
  constexpr const char* kGroupings[] = {"labels", "ends", "counts", "sizes", "k ends"};
  return deep_jit::str::format("{} x {} {}{}: {}", num_groups,
                               kGroupings[static_cast<int>(grouping)],
                               grouping == Grouping::Ends || grouping == Grouping::KEnds
                                   ? deep_jit::str::format("({}) ", alignment)
                                   : "",
                               is_flat ? "flat " : "", gemm.to_string());
}

}  // namespace deep_gemm
