// What sparse logits share: the entry that says where a chosen block of keys lies, and what the
// launch that writes the entries of a call hands to its kernel.
//   SparseEntry e = sparse_entry(block, order, start, end, 16, true);   // {first token, visible}
// Read by host and device. Leaves out: who fills it (csrc/launch) and the logits themselves
// (logits_params.h).
#pragma once

#include <deep_gemm/numeric/float_formats.h>

namespace deep_gemm {

inline constexpr int kSparseThreads = 256;

// Of one column group of one query. `first` is a token; in a paged call the position among blocks
// of the whole cache. Tokens first + o with low <= o < high are visible; none where high is 0.
struct SparseEntry {
  int first;
  short low, high;
};

struct SparseScheduleParams {
  const int* starts;       // [rows]; null: 0
  const int* ends;         // [rows]
  const int* blocks;       // [rows, num_blocks], contiguous
  const int* table;        // [rows, pages]; null: not paged
  SparseEntry* entries;    // [rows, num_blocks]
  long long rows, keys;    // keys: tokens that exist; paged: of all pages of a row
  long long table_stride;  // elements
  int num_blocks, block;   // a query; tokens of a block
  int unaligned;           // 1: blocks begin at the first key of a query
  int page;                // paged: keys of a page, a multiple of block
};

// The entry of `block`, the order-th of a query of the keys [start, end), not paged yet.
DG_HD SparseEntry sparse_entry(long long block, long long order, long long start, long long end,
                               long long block_kv, bool is_unaligned) {
  const long long shift = is_unaligned ? start % block_kv : 0;
  const long long first = start / block_kv;
  const long long last = end > start ? (end - shift + block_kv - 1) / block_kv : first;
  if (order >= last - first || block < first || block >= last) return {0, 0, 0};
  const long long token = block * block_kv + shift;
  const long long low = start > token ? start - token : 0;
  const long long high = end - token < block_kv ? end - token : block_kv;
  if (low >= high) return {0, 0, 0};
  return {static_cast<int>(token), static_cast<short>(low), static_cast<short>(high)};
}

// Of query `row` and its order-th block.
DG_HD SparseEntry sparse_entry_of(const SparseScheduleParams& p, long long row, long long order) {
  const long long begin = p.starts == nullptr ? 0 : p.starts[row];
  const long long start = begin > 0 ? begin : 0;
  const long long end = p.ends[row] < p.keys ? p.ends[row] : p.keys;
  SparseEntry entry =
      sparse_entry(p.blocks[row * p.num_blocks + order], order, start, end, p.block, p.unaligned);
  if (p.table != nullptr && entry.high != 0) {
    const long long page = p.table[row * p.table_stride + entry.first / p.page];
    entry.first = static_cast<int>((page * p.page + entry.first % p.page) / p.block);
  }
  return entry;
}

static_assert(sizeof(SparseEntry) == 8 && alignof(SparseEntry) == 4);
static_assert(sizeof(SparseScheduleParams) == 80 && alignof(SparseScheduleParams) == 8);

}  // namespace deep_gemm
