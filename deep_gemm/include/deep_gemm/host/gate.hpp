// From router logits to experts and weights, on a CPU.               stem: gate
//   score = sqrt(log(1 + exp(logit))); the topk of score + bias, lower ids first where equal;
//   weights: their scores, over the sum of them, times scale
// Grid: blocks that share the tokens evenly. A NaN ranks before every number.
//   extern "C" void host_bf16_mega_gate(const DjHostBlock* block, void* const* args) {
//     deep_gemm::host::gate(*block, *static_cast<const GateParams*>(args[0]));
//   }
#pragma once

#include <cmath>

#include <deep_gemm/abi/gate_params.h>
#include <deep_gemm/abi/host_block.h>

namespace deep_gemm::host {

inline float gate_score(float logit) {
  return std::sqrt((logit > 0.0f ? logit : 0.0f) + std::log1p(std::exp(-std::fabs(logit))));
}

inline int gate_id(const GateIds& ids, std::int64_t at) { return ids.data[at * ids.words]; }

// Chosen so far: ids of `picked`, by descending rank.
inline void gate_choose(const float* logits, const float* bias, int experts, int topk,
                        int* picked) {
  float rank[kMaxGateExperts];
  bool is_taken[kMaxGateExperts] = {};
  for (int e = 0; e < experts; ++e)
    rank[e] = gate_score(logits[e]) + (bias == nullptr ? 0.0f : bias[e]);
  for (int i = 0; i < topk; ++i) {
    int best = -1;
    for (int e = 0; e < experts; ++e) {
      if (is_taken[e]) continue;
      const bool is_nan = rank[e] != rank[e];
      if (best < 0 || rank[e] > rank[best] || (is_nan && rank[best] == rank[best])) best = e;
    }
    is_taken[best] = true;
    picked[i] = best;
  }
}

inline void gate_token(const GateParams& p, std::int64_t row) {
  const float* logits = p.logits + row * p.experts;
  int picked[kMaxGateTopk];
  if (p.is_fixed != nullptr && p.is_fixed[row] != 0) {
    for (int i = 0; i < p.topk; ++i) picked[i] = gate_id(p.fixed, row * p.topk + i);
  } else {
    const bool is_image = p.is_image != nullptr && p.is_image[row] != 0;
    gate_choose(logits, is_image ? p.image_bias : p.bias, p.experts, p.topk, picked);
  }
  const bool is_kept = p.is_kept == nullptr || p.is_kept[row] != 0;
  float scores[kMaxGateTopk], sum = 0.0f;
  for (int i = 0; i < p.topk; ++i) {
    if (!is_kept || picked[i] < 0 || picked[i] >= p.experts) picked[i] = -1;
    scores[i] = picked[i] < 0 ? 0.0f : gate_score(logits[picked[i]]);
    sum += scores[i];
  }
  for (int i = 0; i < p.topk; ++i) {
    int id = picked[i];
    if (id >= 0 && p.physical.data != nullptr) {
      const int copies = gate_id(p.num_copies, id);
      const std::int64_t copy = copies > 1 ? row % copies : 0;
      id = gate_id(p.physical, std::int64_t{id} * p.max_copies + copy);
    }
    p.indices[row * p.topk + i] = id;
    p.weights[row * p.topk + i] = sum == 0.0f ? 0.0f : scores[i] / sum * p.scale;
  }
}

inline void gate(const DjHostBlock& block, const GateParams& p) {
  for (std::int64_t row = block.index[0]; row < p.rows; row += block.grid[0]) gate_token(p, row);
}

}  // namespace deep_gemm::host
