// What a Hopper launch of fp8_mqa_logits, or of its paged form, hands to its kernel, and what the
// kernel is compiled for.
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
  int math_warpgroups = 3;   // 3 or 4; each takes every third or fourth tile of 64 keys
  int kv_stages = 15;        // ring slots of 64 keys
  bool bf16_logits = false;  // else fp32
};

// Grid: persistent, at most one block per SM; every block takes an equal share of the key tiles.
struct MqaParams {
  TensorMap q;   // e4m3 [seq * heads, head_dim], box {head_dim, 128}, swizzle of head_dim bytes
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

struct PagedMqaConfig {
  int heads = 64;            // 16, 32 or 64
  int head_dim = 128;        // 32, 64 or 128
  int queries = 1;           // rows of a request, rounded up to 1, 2 or 4
  int part_keys = 64;        // keys that one copy brings: of a page, at most 64
  int kv_stages = 20;        // ring slots of 64 keys
  bool bf16_logits = false;  // else fp32
};

// Grid: {slots of the schedule, blocks that share one}.
struct PagedMqaParams {
  TensorMap q;  // e4m3 [rows * heads, head_dim], box {head_dim, queries * heads}, swizzled likewise
  TensorMap kv;  // e4m3 [blocks, page, head_dim], box {head_dim, part_keys, 1}, swizzled likewise
  const unsigned char* cache;  // the same memory: scales lie behind the values of a page
  const float* weights;        // [rows, heads], unit column stride
  const int* lengths;          // [rows]
  const int* table;            // [batch, pages]
  const int* schedule;         // logits_params.h, LogitsScheduleParams
  void* logits;                // [rows, width]
  long long block_stride;      // bytes
  long long table_stride, weights_row_stride, logits_row_stride;  // elements
  int batch, next_n, page, width;
};

static_assert(sizeof(MqaParams) == 448 && alignof(MqaParams) == 64);
static_assert(sizeof(PagedMqaParams) == 384 && alignof(PagedMqaParams) == 64);
#ifndef __CUDACC_RTC__  // NVRTC has no offsetof; the sizes above still hold there
static_assert(__builtin_offsetof(MqaParams, weights) == 384 &&
              __builtin_offsetof(MqaParams, seq) == 432);
#endif

}  // namespace deep_gemm
