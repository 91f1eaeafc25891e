// From router logits to experts and weights, any GPU from sm_80 on.  stem: gate
//   score = sqrt(log(1 + exp(logit))); the topk of score + bias, lower ids first where equal;
//   weights: their scores, over the sum of them, times scale
// Grid: a warp a token; a lane ranks every 32nd expert, and lane i has the i-th of the chosen.
// A NaN ranks before every number, so that ids are always valid and differ.
#pragma once

#include <deep_gemm/abi/gate_params.h>
#include <deep_gemm/portable/dependent.cuh>
#include <deep_gemm/ptx/types.cuh>

namespace deep_gemm::portable {

// ---- Contract: what a plan may ask for (same words as plan/gate_plan) ----
template <GateConfig C>
struct GateContract {
  static_assert(C.per_lane >= 1 && C.per_lane <= kMaxGateExperts / 32, "PER_LANE: 1 to 16");
};

DG_DEVICE float gate_score(float logit) {
  return sqrtf(fmaxf(logit, 0.0f) + log1pf(expf(-fabsf(logit))));
}

DG_DEVICE i32 gate_id(const GateIds& ids, i64 at) { return __ldg(ids.data + at * ids.words); }

// Larger for what ranks first: the order of floats, NaN on top, then the lower id. Never 0.
DG_DEVICE u64 gate_rank(float x, i32 expert) {
  const u32 bits = __float_as_uint(x + 0.0f);  // -0 is 0
  const u32 order = x != x ? 0xFFFFFFFFu : bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return static_cast<u64>(order) << 32 | (0xFFFFFFFFu - static_cast<u32>(expert));
}

DG_DEVICE u64 gate_best(u64 x) {
#pragma unroll
  for (u32 step = 16; step != 0; step /= 2) {
    const u64 other = __shfl_xor_sync(0xffffffff, x, step);
    x = other > x ? other : x;
  }
  return x;
}

// The chosen expert that this lane stores; any number where there is none.
template <GateConfig C>
DG_DEVICE i32 gate_choose(const GateParams& params, const float* logits, const float* bias,
                          i32 lane) {
  u64 ranks[C.per_lane];
#pragma unroll
  for (int i = 0; i < C.per_lane; ++i) {
    const i32 expert = lane + 32 * i;
    ranks[i] = 0;
    if (expert < params.experts) {
      const float score = gate_score(__ldg(logits + expert));
      ranks[i] = gate_rank(bias == nullptr ? score : score + __ldg(bias + expert), expert);
    }
  }
  i32 chosen = -1;
  for (i32 turn = 0; turn < params.topk; ++turn) {
    u64 own = ranks[0];
#pragma unroll
    for (int i = 1; i < C.per_lane; ++i) own = ranks[i] > own ? ranks[i] : own;
    const u64 best = gate_best(own);
    const i32 expert = static_cast<i32>(0xFFFFFFFFu - static_cast<u32>(best));
    if (lane == turn) chosen = expert;
#pragma unroll
    for (int i = 0; i < C.per_lane; ++i)
      if (ranks[i] == best) ranks[i] = 0;
  }
  return chosen;
}

// ---- Body ----
template <GateConfig C>
DG_DEVICE void gate(const GateParams& params) {
  static_assert(sizeof(GateContract<C>) > 0);
  wait_for_dependency();
  const i32 lane = static_cast<i32>(threadIdx.x) % 32;
  const i64 row = static_cast<i64>(blockIdx.x) * (kGateThreads / 32) + threadIdx.x / 32;
  if (row < params.rows) {
    const float* logits = params.logits + row * params.experts;
    const bool is_slot = lane < params.topk;
    const i64 slot = row * params.topk + lane;
    i32 expert = -1;
    if (params.is_fixed != nullptr && __ldg(params.is_fixed + row) != 0) {
      if (is_slot) expert = gate_id(params.fixed, slot);
    } else {
      const bool is_image = params.is_image != nullptr && __ldg(params.is_image + row) != 0;
      expert = gate_choose<C>(params, logits, is_image ? params.image_bias : params.bias, lane);
    }
    const bool is_kept = params.is_kept == nullptr || __ldg(params.is_kept + row) != 0;
    if (!is_kept || !is_slot || expert < 0 || expert >= params.experts) expert = -1;
    const float score = expert < 0 ? 0.0f : gate_score(__ldg(logits + expert));
    float sum = score;
#pragma unroll
    for (u32 step = 16; step != 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    i32 id = expert;
    if (expert >= 0 && params.physical.data != nullptr) {
      const i32 copies = gate_id(params.num_copies, expert);
      const i64 copy = copies > 1 ? row % copies : 0;
      id = gate_id(params.physical, static_cast<i64>(expert) * params.max_copies + copy);
    }
    if (is_slot) {
      params.indices[slot] = id;
      params.weights[slot] = sum == 0.0f ? 0.0f : score / sum * params.scale;
    }
  }
  release_dependents();
}

}  // namespace deep_gemm::portable
