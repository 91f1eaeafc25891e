// What a launch of bf16_mega_gate's selection hands to its kernel: from router logits to the chosen
// experts of every token and their weights.
//   GateParams params{...};                                  // one argument
//   constexpr GateConfig kConfig{.per_lane = 8};             // device: 129 to 256 experts
// Read by host and device. Leaves out: who fills it (csrc/launch), and the product x @ w^T.
#pragma once

namespace deep_gemm {

inline constexpr int kGateThreads = 128;  // a warp a token
inline constexpr int kMaxGateExperts = 512;
inline constexpr int kMaxGateTopk = 32;

struct GateConfig {
  int per_lane = 8;  // experts of a lane: 1, 2, 4, 8 or 16
};

// Expert ids are int32 or int64: `words` 1 or 2, the lower first.
struct GateIds {
  const int* data;  // null: not given
  int words, reserved;
};

struct GateParams {
  const float* logits;            // [rows, experts], contiguous
  const unsigned char* is_kept;   // [rows]; 0: no expert. Null: all are kept
  const float* bias;              // [experts], or null
  const float* image_bias;        // in its place where is_image says so, or null
  const unsigned char* is_image;  // [rows]
  const unsigned char* is_fixed;  // [rows]; the experts stand in `fixed`. Null: none is
  GateIds fixed;                  // [rows, topk]
  GateIds physical, num_copies;   // [experts, max_copies], [experts]
  long long* indices;             // [rows, topk]
  float* weights;                 // [rows, topk]
  long long rows;
  int experts, topk, max_copies;
  float scale;
};

static_assert(sizeof(GateIds) == 16 && alignof(GateIds) == 8);
static_assert(sizeof(GateParams) == 136 && alignof(GateParams) == 8);

}  // namespace deep_gemm
