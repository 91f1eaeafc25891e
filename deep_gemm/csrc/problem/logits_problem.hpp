// Indexer logits as plain facts, over contiguous or paged keys, all of them or chosen blocks; and
// what is computed ahead of a call: the schedule of paged keys, the entries of chosen blocks.
//   LogitsProblem p{.type = LogitsType::Fp8, .rows = 512, .keys = 4096, .heads = 32, ...};
//   p == q;  p.hash();  p.to_string();
// A value that ops/ made is valid. Leaves addresses to launch/, as they do not change the plan.
#pragma once

#include <cstdint>
#include <string>

#include <deep_gemm/abi/host_gemm.h>
#include <deep_gemm/abi/logits_params.h>

namespace deep_gemm {

struct LogitsProblem {
  LogitsType type = LogitsType::Fp8;
  OutputType weights_type = OutputType::F32;
  OutputType logits_type = OutputType::F32;
  std::int64_t rows = 0;   // queries
  std::int64_t keys = 0;   // of the sequence; paged: columns of the output
  std::int64_t width = 0;  // columns of the output
  int heads = 0, head_dim = 0;
  std::int64_t kv_stride = 0;                          // bytes of a key; paged: its values alone
  std::int64_t weights_stride = 0, logits_stride = 0;  // rows, elements
  bool is_compressed = false;
  bool is_clean = false;
  bool is_paged = false;
  std::int64_t next_n = 1, page = 0;
  std::int64_t num_blocks = 0, block_stride = 0;  // of the cache; bytes
  std::int64_t table_stride = 0;                  // elements
  std::int64_t slots = 0;                         // of the schedule
  int sparse_block = 0;                           // keys of a chosen block; 0: every key
  int alignment = 16;                             // of the least aligned of q and keys; 16 at most
  bool is_meta = false;                           // described, not given: nothing can be launched

  bool is_sparse() const { return sparse_block != 0; }
  bool is_mx() const { return type != LogitsType::Fp8; }
  bool is_empty() const { return rows == 0 || width == 0; }
  std::int64_t row_bytes() const { return type == LogitsType::Fp4Mx ? head_dim / 2 : head_dim; }
  std::uint64_t hash() const;
  std::string to_string() const;
  friend bool operator==(const LogitsProblem&, const LogitsProblem&) = default;
};

// How many elements lie from one row of logits to the next, as callers rely on.
std::int64_t logits_row_stride(bool is_paged, bool is_compressed, std::int64_t width,
                               OutputType type);

struct LogitsScheduleProblem {
  std::int64_t batch = 0, next_n = 1;
  std::int64_t lengths_stride = 1;  // elements
  std::int64_t slots = 0;
  bool is_meta = false;

  std::uint64_t hash() const;
  friend bool operator==(const LogitsScheduleProblem&, const LogitsScheduleProblem&) = default;
};

// Where the chosen blocks of every query lie: abi/sparse_params.h.
struct SparseScheduleProblem {
  std::int64_t rows = 0, num_blocks = 0;  // queries, blocks a query
  std::int64_t keys = 0;                  // that exist; paged: of all pages of a query
  int block = 0;                          // keys of a block
  bool is_unaligned = false;
  std::int64_t page = 0;  // keys; 0: not paged
  std::int64_t table_stride = 0;
  bool is_meta = false;

  std::uint64_t hash() const;
  friend bool operator==(const SparseScheduleProblem&, const SparseScheduleProblem&) = default;
};

}  // namespace deep_gemm
