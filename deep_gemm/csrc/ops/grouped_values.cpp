#include <deep_gemm/csrc/ops/grouped_values.hpp>

#include <algorithm>

#include <deep_gemm/csrc/plan/rules.hpp>

namespace deep_gemm::ops {
namespace {

using Values = std::vector<std::int32_t>;

std::string at(std::size_t index, std::int32_t value) {
  return "element " + std::to_string(index) + " is " + std::to_string(value);
}

void check_labels(std::string_view op, const GroupedProblem& p, const Values& labels) {
  const auto tile = static_cast<std::size_t>(p.alignment);
  for (std::size_t first = 0; first < labels.size(); first += tile) {
    const std::size_t end = std::min(first + tile, labels.size());
    std::size_t owner = end;  // the first row of the tile that has a group
    for (std::size_t row = first; row < end; ++row) {
      const std::int32_t label = labels[row];
      if (label < -1 || label >= p.num_groups)
        refuse(Rule::LabelRange, {op, "grouped_layout", at(row, label)},
               {p.num_groups - 1, static_cast<long>(row), label});
      if (label < 0) continue;
      if (owner == end) owner = row;
      if (label != labels[owner])
        refuse(
            Rule::LabelTile, {op, "grouped_layout", at(row, label)},
            {p.alignment, static_cast<long>(owner), static_cast<long>(row), labels[owner], label});
    }
  }
}

void check_ends(std::string_view op, const GroupedProblem& p, const Values& ends) {
  const std::int64_t capacity = p.is_along_k() ? p.gemm.k : p.gemm.m;
  std::int64_t start = 0;
  for (std::size_t g = 0; g < ends.size(); ++g) {
    if (ends[g] < start || ends[g] > capacity)
      refuse(Rule::EndOrder, {op, "grouped_layout", at(g, ends[g])},
             {capacity, static_cast<long>(g), start, ends[g]});
    start = (ends[g] + p.alignment - 1) / p.alignment * p.alignment;
  }
}

void check_counts(std::string_view op, const GroupedProblem& p, const Values& counts) {
  for (std::size_t g = 0; g < counts.size(); ++g)
    if (counts[g] < 0 || counts[g] > p.gemm.m)
      refuse(Rule::CountRange, {op, "masked_m", at(g, counts[g])},
             {p.gemm.m, static_cast<long>(g), counts[g]});
}

void check_sizes(std::string_view op, const std::vector<std::int64_t>& ks, const Values& sizes) {
  for (std::size_t g = 0; g < sizes.size(); ++g)
    if (sizes[g] != ks[g])
      refuse(Rule::KSizesLayout, {op, "grouped_layout", at(g, sizes[g])},
             {static_cast<long>(g), ks[g], sizes[g]});
}

}  // namespace

void check_values(std::string_view op, const GroupedProblem& p,
                  const std::optional<std::vector<std::int64_t>>& ks, const Values& values) {
  switch (p.grouping) {
    case Grouping::Labels:
      return check_labels(op, p, values);
    case Grouping::Ends:
    case Grouping::KEnds:
      return check_ends(op, p, values);
    case Grouping::Counts:
      return check_counts(op, p, values);
    case Grouping::Sizes:
      return check_sizes(op, *ks, values);
  }
}

}  // namespace deep_gemm::ops
