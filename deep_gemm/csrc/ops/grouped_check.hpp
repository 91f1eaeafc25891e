// A call of a grouped GEMM, checked: facts of its tensors in, a valid problem out, or an error by
// rule.
//   const GroupedProblem p = check_m_grouped({.op = "m_grouped_fp8_gemm_nt_contiguous", ...});
// Each group is a dense GEMM, so the dense checks judge one group; what is left is the groups
// themselves. Runs on facts, as gemm_check. Leaves the values of a layout to grouped_values.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <deep_gemm/csrc/ops/gemm_check.hpp>
#include <deep_gemm/csrc/problem/grouped_problem.hpp>

namespace deep_gemm::ops {

struct MGroupedFacts {
  std::string_view op;
  Grouping grouping = Grouping::Labels;
  bool is_scaled = false;
  bool b_is_transposed = false;  // nn: b is stored [g, k, n]
  TensorFacts a, a_scale, b, b_scale, d, layout;
  Recipe recipe;
  std::int64_t alignment = 128;
  bool zero_padding = true;
  bool has_alpha = false;
};

GroupedProblem check_m_grouped(const MGroupedFacts& facts);

// Lowers what is known of the alignment of operands (bytes apart) and of outputs by the way from
// group to group.
void lower_alignments(GroupedProblem& problem, std::int64_t operand_bytes,
                      std::int64_t output_bytes);

// How the operands of a GEMM grouped along k are stored.
enum class KStorage {
  Flat,     // a: for each group [m, k of g], contiguous, one after the other
  Rows,     // a: [sum of k, m]
  Columns,  // a: [m, sum of k]
};

KStorage k_storage_of(std::string_view op);

struct KGroupedFacts {
  std::string_view op;
  KStorage storage = KStorage::Rows;
  bool is_scaled = false;
  TensorFacts a, a_scale, b, b_scale, d, layout;
  std::optional<TensorFacts> c;
  std::int64_t gran_k = 0;  // 0: the default
  std::int64_t alignment = 128;
  bool use_ends = false;
  std::optional<std::vector<std::int64_t>> ks;  // absent: known on the device alone
  bool has_alpha = false;
};

GroupedProblem check_k_grouped(const KGroupedFacts& facts);

}  // namespace deep_gemm::ops
