// What a Hopper launch of fp8_mqa_logits hands to its kernel, and what the kernel is compiled for.
//   MqaParams params{...};  void* args[] = {&params};      // one argument, __grid_constant__
//   constexpr MqaConfig kConfig{.heads = 32, .head_dim = 128};
// Read by host and device. Leaves out: who fills it (csrc/launch) and which configuration a problem
// gets (csrc/plan).
#pragma once

#include <deep_gemm/abi/gemm_params.h>

namespace deep_gemm {

struct MqaConfig {
  int heads = 32;            // 16, 32 or 64
  int head_dim = 128;        // 32, 64 or 128
  int kv_stages = 15;        // ring slots of 64 keys
  bool bf16_logits = false;  // else fp32
};

// Grid: persistent, at most one block per SM; every block takes an equal share of the key tiles.
struct MqaParams {
  // e4m3 [heads / 2, seq, 2, head_dim] over q [seq, heads, head_dim], box {head_dim, 2, 4, heads /
  // 2}, swizzle of head_dim bytes: four queries whose heads lie side by side, two by two.
  TensorMap q;
  TensorMap kv;  // e4m3 [kv_len, head_dim], box {head_dim, 64}, swizzle of head_dim bytes
  TensorMap kv_scale;    // fp32 [1, kv_len], box {64, 1}, no swizzle
  const float* weights;  // [seq, heads], unit column stride
  const int* starts;     // [seq]: first key of a query
  const int* ends;       // [seq]: one past its last key
  void* logits;  // [seq, kv_len] or, compressed, [seq, longest range]; rows aligned to 16 bytes
  long long weights_row_stride, logits_row_stride;  // elements
  int seq, kv_len;
  int compressed;  // 1: column j of a row is key starts[row] + j
  int clean;       // 1: -inf outside a row's range; never with compressed
};

static_assert(sizeof(MqaParams) == 448 && alignof(MqaParams) == 64);
#ifndef __CUDACC_RTC__  // NVRTC has no offsetof; the sizes above still hold there
static_assert(__builtin_offsetof(MqaParams, weights) == 384 &&
              __builtin_offsetof(MqaParams, seq) == 432);
#endif

}  // namespace deep_gemm
