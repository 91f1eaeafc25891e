#include <deep_gemm/csrc/plan/group_ranges.hpp>

#include <algorithm>

#include <deep_gemm/csrc/problem/sizes.hpp>

namespace deep_gemm {
namespace {

std::vector<GroupRange> by_labels(const GroupedProblem& p, const std::int32_t* labels) {
  std::vector<GroupRange> ranges;
  for (std::int64_t row = 0; row < p.gemm.m; ++row) {
    const std::int64_t label = labels[row] >= 0 && labels[row] < p.num_groups ? labels[row] : -1;
    if (!ranges.empty() && ranges.back().group == label) {
      ranges.back().end = row + 1;
    } else {
      ranges.push_back({label, row, row + 1});
    }
  }
  return ranges;
}

std::vector<GroupRange> by_ends(const GroupedProblem& p, const std::int32_t* ends) {
  std::vector<GroupRange> ranges;
  std::int64_t start = 0;
  for (std::int64_t g = 0; g < p.num_groups; ++g) {
    const std::int64_t end = std::min<std::int64_t>(ends[g], p.gemm.m);
    if (end <= start) continue;  // an empty group, or an end in front of its start
    ranges.push_back({g, start, end});
    start = std::min(round_up(end, p.alignment), p.gemm.m);
    if (p.zero_padding && start > end) ranges.push_back({-1, end, start});
  }
  return ranges;
}

std::vector<GroupRange> by_counts(const GroupedProblem& p, const std::int32_t* counts) {
  std::vector<GroupRange> ranges;
  for (std::int64_t g = 0; g < p.num_groups; ++g)
    if (counts[g] > 0) ranges.push_back({g, 0, std::min<std::int64_t>(counts[g], p.gemm.m)});
  return ranges;
}

// Each group starts a new scale, and a new word where four share one.
std::int64_t num_scales(const GemmScale& s, std::int64_t k) {
  const std::int64_t count = ceil_div(k, s.gran_k);
  return s.type == ScaleType::Ue8m0x4 ? ceil_div(count, 4) : count;
}

// Every group, empty ones too: their d becomes c, or zero.
std::vector<GroupRange> along_k(const GroupedProblem& p, const std::int32_t* values) {
  std::vector<GroupRange> ranges;
  const bool has_ends = p.grouping == Grouping::KEnds;
  std::int64_t start = 0, a_scales = 0, b_scales = 0;
  for (std::int64_t g = 0; g < p.num_groups; ++g) {
    const std::int64_t begin = std::min(start, p.gemm.k);
    const std::int64_t wanted = has_ends ? values[g] : begin + values[g];
    const std::int64_t end = std::clamp(wanted, begin, p.gemm.k);
    ranges.push_back({g, begin, end, a_scales, b_scales});
    const std::int64_t covered =
        p.scales_aligned ? round_up(end - begin, p.alignment) : end - begin;
    a_scales += num_scales(p.gemm.a_scale, covered);
    b_scales += num_scales(p.gemm.b_scale, covered);
    start = has_ends ? round_up(end, p.alignment) : end;
  }
  return ranges;
}

}  // namespace

std::vector<GroupRange> group_ranges(const GroupedProblem& problem, const std::int32_t* values) {
  switch (problem.grouping) {
    case Grouping::Labels:
      return by_labels(problem, values);
    case Grouping::Ends:
      return by_ends(problem, values);
    case Grouping::Counts:
      return by_counts(problem, values);
    case Grouping::Sizes:
    case Grouping::KEnds:
      return along_k(problem, values);
  }
  return {};
}

}  // namespace deep_gemm
