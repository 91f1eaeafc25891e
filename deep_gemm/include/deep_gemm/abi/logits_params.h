// What a launch of indexer logits hands to its kernel, on a CPU and on GPUs of every generation,
// and what the kernel is compiled for.
//   LogitsParams params{...};                                      // one argument
//   constexpr LogitsConfig kConfig{.type = LogitsType::Fp8, .head_dim = 128};
// Read by host and device: no function. Leaves out: who fills it (csrc/launch), which configuration
// a problem gets (csrc/plan), and the tuned Hopper kernels (mqa_params.h).
#pragma once

namespace deep_gemm {

// Of q and the keys. Mx: a UE8M0 scale per 32 elements, four of them to a word; else a key has an
// fp32 scale and q has none.
enum class LogitsType : int { Fp8 = 0, Fp8Mx = 1, Fp4Mx = 2 };

// Compile-time part: everything else is a run-time value.
struct LogitsConfig {
  LogitsType type = LogitsType::Fp8;
  bool is_paged = false;  // keys lie in pages found by a table; else they are contiguous
  int head_dim = 128;     // 32, 64, 96 or 128
  int sparse_block = 0;   // 8 or 16: keys of a chosen block; 0: every key
  // Host only: register tile (heads by vectors of keys).
  int rows = 6;
  int vectors = 2;
  int vector_bytes = 32;
};

// Keys of one block of the grid.
inline constexpr int kHostLogitsKeys = 128;
inline constexpr int kPortableLogitsKeys = 128;
inline constexpr int kPortableLogitsThreads = 128;
inline constexpr int kLogitsScheduleThreads = 1024;
// Keys that a slot of a paged schedule counts in.
inline constexpr int kScheduleKeys = 64;

struct LogitsParams {
  const void* q;         // [rows, heads, head_dim], contiguous
  const void* q_scale;   // MX: u32 [rows, heads], contiguous
  const void* kv;        // contiguous keys; paged: the cache, values of a page before its scales
  const void* kv_scale;  // one word a key, fp32 or MX; unused when paged
  const void* weights;   // [rows, heads]
  const int* starts;     // [rows]: first key of a query; null: 0
  const int* ends;       // [rows]: one past its last key
  const int* table;      // paged: [rows / next_n, pages]
  const int* schedule;   // paged: what LogitsScheduleParams describes; sparse: SparseEntry
                         // [rows, width / sparse_block], and starts, ends and table are unused
  void* logits;          // [rows, width]
  long long kv_stride, block_stride;                      // bytes: of a key, of a page
  long long weights_stride, logits_stride, table_stride;  // elements
  long long rows;
  long long keys;                 // of the sequence; paged: columns of the output
  int heads;                      // 1 to 128
  int next_n;                     // paged: rows that share a table row, one after another
  int page;                       // paged: keys of a page
  int block_rows;                 // not paged: rows that a block of the grid works on
  int compressed;                 // 1: column j of a row is key starts[row] + j
  int clean;                      // 1: -inf outside a row's range; never with compressed
  int bf16_weights, bf16_logits;  // else fp32
  long long width;                // columns of the output
  int slots;                      // paged: entries of the schedule, less one
  int reserved;
};

// Equal shares of all keys of a paged call: slot s starts at key tile schedule[s][1] of request
// schedule[s][0]; the entry after the last names the end. A tile has kScheduleKeys keys.
struct LogitsScheduleParams {
  const int* lengths;        // [batch, next_n]: the last of a row is its longest
  int* schedule;             // [slots + 1, 2]
  long long lengths_stride;  // elements from one request to the next
  int batch, next_n, slots, reserved;
};

static_assert(sizeof(LogitsParams) == 184 && alignof(LogitsParams) == 8);
static_assert(sizeof(LogitsScheduleParams) == 40 && alignof(LogitsScheduleParams) == 8);

}  // namespace deep_gemm
