// The symmetric buffer of a fused mixture-of-experts call: how large it is and what lies where.
//   const SymmLayout layout = build_symm_buffer_layout(problem);     // throws by rule
//   layout.bytes;  layout.views[0];                    // x: fp8 [max tokens, hidden] at its offset
//   SymmLayout same = symm_layout_from(to_int_list(layout));         // what crosses the registry
// One function decides, for the size that callers allocate and for the views that kernels use. Pure
// host arithmetic: no device, no torch. Contract: deep_gemm_api 1.7 and 2.19; the order of the
// regions is ours.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <deep_gemm/csrc/problem/tensor_facts.hpp>

namespace deep_gemm {

enum class MegaTypes : int { Fp8Fp4, Bf16Bf16, Fp4Fp4 };

struct SymmProblem {
  std::int64_t num_ranks = 1;
  std::int64_t num_experts = 0;  // of all ranks
  std::int64_t max_tokens = 0;   // a rank; rounded up to kMegaTokenAlignment
  std::int64_t num_topk = 0;
  std::int64_t hidden = 0, intermediate = 0;
  MegaTypes types = MegaTypes::Fp8Fp4;
  std::int64_t num_ring_tokens = 0;  // 0: by num_sms
  std::int64_t num_shared_experts = 0;
  std::int64_t num_sms = 0;
};

struct SymmView {
  DType dtype = DType::Other;
  std::int64_t offset = 0;  // bytes from the start
  std::array<std::int64_t, 2> sizes = {};

  std::int64_t bytes() const { return sizes[0] * sizes[1] * dtype_bytes(dtype); }
  friend bool operator==(const SymmView&, const SymmView&) = default;
};

struct SymmLayout {
  std::int64_t bytes = 0;
  std::vector<SymmView> views;

  friend bool operator==(const SymmLayout&, const SymmLayout&) = default;
};

// A common multiple of the tile heights that a fused kernel may use: 96, 128, 160, 192, 240, 384.
inline constexpr std::int64_t kMegaTokenAlignment = 1920;
// The first eight views are those of both generations; four for shared experts follow.
inline constexpr std::size_t kNumMegaViews = 12, kNumMegaViewsWithoutShared = 8;

struct RingLimit {
  std::int64_t min = 0, max = 0;  // tokens, both aligned
};

// min: a tile for every SM in flight. max: every token of every rank for every local expert.
RingLimit mega_ring_limit(std::int64_t max_tokens, std::int64_t num_experts_per_rank,
                          std::int64_t num_topk, std::int64_t num_ranks, std::int64_t num_sms);

// Throws InvalidArgument, naming `op` and the argument.
SymmLayout build_symm_buffer_layout(const SymmProblem& problem, std::string_view op);

// "fp8xfp4", "bf16xbf16", "fp4xfp4" (NVFP4 too).
MegaTypes mega_types_from(std::string_view name, std::string_view op);

std::vector<std::int64_t> to_int_list(const SymmLayout& layout);
SymmLayout symm_layout_from(const std::vector<std::int64_t>& list, std::string_view op);

}  // namespace deep_gemm
