#include <deep_gemm/csrc/ops/sparse_schedule_check.hpp>

#include <deep_gemm/abi/sparse_params.h>
#include <deep_gemm/csrc/ops/logits_argument.hpp>

namespace deep_gemm::ops {
namespace {

using Argument = LogitsArgument;

constexpr std::int64_t kMaxRows = 1 << 20, kMaxBlocks = 4096, kMaxKeys = 0x7fffffff;

void check_row_values(const SparseScheduleFacts& f, const char* name, const TensorFacts& t,
                      std::int64_t rows) {
  const Argument x{f.op, name, t};
  x.on_device_of(f.blocks);
  x.int32();
  x.shaped("rows of sparse_kv_block_indices", {rows});
  x.contiguous();
}

}  // namespace

void check_sparse_sizes(std::string_view op, std::int64_t num_blocks, std::int64_t block,
                        std::int64_t page) {
  if (num_blocks < 4 || num_blocks > kMaxBlocks || num_blocks % 4 != 0)
    refuse(Rule::SparseCount, {op, "num_max_sparse_blocks", std::to_string(num_blocks)});
  if (block != 8 && block != 16)
    refuse(Rule::SparseBlock, {op, "sparse_block_kv", std::to_string(block)});
  if (page % block != 0) refuse(Rule::SparsePage, {op, "page_kv", std::to_string(page)}, {block});
}

std::int64_t sparse_metadata_bytes(std::int64_t rows, std::int64_t num_blocks) {
  return rows * num_blocks * static_cast<std::int64_t>(sizeof(SparseEntry));
}

SparseScheduleProblem check_sparse_schedule(const SparseScheduleFacts& f) {
  const Argument blocks{f.op, "sparse_kv_block_indices", f.blocks};
  blocks.require(f.blocks.device != DeviceKind::Other, Rule::DeviceKind);
  blocks.int32();
  blocks.rank(2, "rows, blocks");
  blocks.contiguous();
  SparseScheduleProblem p;
  p.rows = f.blocks.sizes[0];
  p.num_blocks = f.blocks.sizes[1];
  blocks.require(p.rows <= kMaxRows, Rule::SparseRows);
  check_sparse_sizes(f.op, p.num_blocks, f.block, f.table ? f.page : 0);
  p.block = static_cast<int>(f.block);
  p.is_unaligned = f.is_unaligned;
  p.is_meta = f.blocks.device == DeviceKind::Meta;
  if (!f.table) {
    check_row_values(f, "cu_seq_len_k_start", *f.starts, p.rows);
    check_row_values(f, "cu_seq_len_k_end", f.ends, p.rows);
    if (f.keys < 0 || f.keys > kMaxKeys)
      refuse(Rule::SparseKeys, {f.op, "num_kv_tokens", std::to_string(f.keys)});
    p.keys = f.keys;
    return p;
  }
  if (f.page < 1 || f.page > 65536)
    refuse(Rule::LogitsPage, {f.op, "page_kv", std::to_string(f.page)});
  check_row_values(f, "context_lens", f.ends, p.rows);
  if (f.indices) check_row_values(f, "indices", *f.indices, p.rows);
  const Argument table{f.op, "block_table", *f.table};
  table.on_device_of(f.blocks);
  table.int32();
  table.rank(2, "rows, pages");
  table.shaped("rows, pages", {p.rows, f.table->sizes[1]});
  table.require(table.has_packed(1), Rule::LogitsContiguous, "block_table", " in its rows");
  p.page = f.page;
  p.table_stride = p.rows <= 1 ? f.table->sizes[1] : f.table->strides[0];
  p.keys = std::min(f.table->sizes[1] * f.page, kMaxKeys);
  return p;
}

}  // namespace deep_gemm::ops
