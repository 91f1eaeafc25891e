// A grouped GEMM as plain facts: one product a group, groups cut along m or along k.
//   Along m: d[row] = alpha * a[row] @ b[group of row]^T.
//   Along k: d[g] = alpha * a[:, k of g] @ b[:, k of g]^T (+ c[g]).
// Which rows (or which part of k) belong to a group is read where the call runs, so that only
// shapes are in here. A value that ops/ made is valid. Leaves addresses to launch/.
#pragma once

#include <cstdint>
#include <string>

#include <deep_gemm/csrc/problem/gemm_problem.hpp>

namespace deep_gemm {

// What the layout tensor holds.
enum class Grouping : int {
  Labels = 0,  // [m]: the group of each row, negative for padding
  Ends = 1,    // [groups]: the end row of each; starts are multiples of the alignment
  Counts = 2,  // [groups]: rows of each, at the beginning of its own m rows ("masked")
  Sizes = 3,   // [groups]: k of each, back to back
  KEnds = 4,   // [groups]: the end of each along k; starts are multiples of the alignment
};

struct GroupedProblem {
  Grouping grouping = Grouping::Labels;
  // m: all rows of a, or one group's (Counts, along k). k: a group's, or all of it (along k).
  // Strides of an operand or scale are those inside a group.
  GemmProblem gemm;
  std::int64_t num_groups = 0;
  std::int64_t a_group = 0, b_group = 0;              // bytes from group to group, along m
  std::int64_t a_scale_group = 0, b_scale_group = 0;  // elements, along m
  std::int64_t d_group = 0;                           // elements; of c too
  std::int64_t alignment = 128;                       // of starts (Ends, KEnds) and of label tiles
  bool zero_padding = true;     // Ends: rows between an end and the next start become zero
  bool is_flat = false;         // along k: a group's block of a and of b is contiguous [mn, k of g]
  bool scales_aligned = false;  // KEnds: a group's scales cover its k rounded up to the alignment

  bool is_along_k() const { return grouping >= Grouping::Sizes; }
  std::uint64_t hash() const;
  std::string to_string() const;
  friend bool operator==(const GroupedProblem&, const GroupedProblem&) = default;
};

}  // namespace deep_gemm
