#include <deep_gemm/csrc/ops/logits_check.hpp>

#include <algorithm>

#include <deep_gemm/csrc/ops/logits_argument.hpp>
#include <deep_gemm/csrc/ops/sparse_schedule_check.hpp>

namespace deep_gemm::ops {
namespace {

using Argument = LogitsArgument;

OutputType output_type(bool is_bf16) { return is_bf16 ? OutputType::Bf16 : OutputType::F32; }

// Types, heads and the operands' own layout; q has the rows as its first `leading` dimensions.
void check_query(const LogitsFacts& f, int leading, LogitsProblem& p) {
  const Argument q{f.op, "q", f.q};
  q.require(f.q.device != DeviceKind::Other, Rule::DeviceKind);
  q.require(f.q.dtype == DType::Float8E4m3 || f.q.dtype == DType::Int8, Rule::LogitsDtype);
  q.rank(leading + 2, leading == 1 ? "seq, heads, head_dim" : "batch, next_n, heads, head_dim");
  const bool is_fp4 = f.q.dtype == DType::Int8, is_mx = f.q_scale.has_value();
  q.require(!is_fp4 || is_mx, Rule::LogitsScale);
  p.type = is_fp4 ? LogitsType::Fp4Mx : is_mx ? LogitsType::Fp8Mx : LogitsType::Fp8;
  const auto at = static_cast<std::size_t>(leading);
  const std::int64_t heads = f.q.sizes[at], dim = f.q.sizes[at + 1] * (is_fp4 ? 2 : 1);
  q.require(heads >= 1 && heads <= 128, Rule::LogitsHeads);
  q.require(dim >= 32 && dim <= 128 && dim % 32 == 0, Rule::LogitsHeadDim);
  q.contiguous();
  p.heads = static_cast<int>(heads);
  p.head_dim = static_cast<int>(dim);
  p.rows = leading == 1 ? f.q.sizes[0] : f.q.sizes[0] * f.q.sizes[1];
  p.next_n = leading == 1 ? 1 : f.q.sizes[1];
  p.is_meta = f.q.device == DeviceKind::Meta;
  if (is_mx) {
    const Argument scale{f.op, "q_scale", *f.q_scale};
    scale.on_device_of(f.q);
    scale.require(f.q_scale->dtype == DType::Int32, Rule::LogitsScale);
    if (leading == 1) {
      scale.shaped("seq, heads", {p.rows, heads});
    } else {
      scale.shaped("batch, next_n, heads", {f.q.sizes[0], f.q.sizes[1], heads});
    }
    scale.contiguous();
  }
}

void check_weights(const LogitsFacts& f, LogitsProblem& p) {
  const Argument weights{f.op, "weights", f.weights};
  weights.on_device_of(f.q);
  weights.require(f.weights.dtype == DType::Float32 || f.weights.dtype == DType::BFloat16,
                  Rule::LogitsWeights);
  weights.shaped("rows of q, heads", {p.rows, p.heads});
  weights.require(weights.has_packed(1), Rule::LogitsContiguous, "weights", " in its rows");
  p.weights_type = output_type(f.weights.dtype == DType::BFloat16);
  p.weights_stride = p.rows <= 1 ? p.heads : f.weights.strides[0];
}

void check_range(const LogitsFacts& f, const char* name, const TensorFacts& t, std::int64_t rows) {
  const Argument x{f.op, name, t};
  x.on_device_of(f.q);
  x.int32();
  x.shaped("rows of q", {rows});
  x.contiguous();
}

void check_keys(const LogitsFacts& f, LogitsProblem& p) {
  const Argument kv{f.op, "kv", f.kv}, kv_scale{f.op, "kv_scale", f.kv_scale};
  kv.on_device_of(f.q);
  kv.require(f.kv.dtype == f.q.dtype, Rule::LogitsDtype);
  kv.rank(2, "keys, head_dim");
  p.keys = f.kv.sizes[0];
  kv.shaped("keys, head_dim", {p.keys, p.row_bytes()});
  kv.require(kv.has_packed(1), Rule::LogitsContiguous, "kv", " in its rows");
  p.kv_stride = p.keys <= 1 ? p.row_bytes() : f.kv.strides[0];
  kv.require(p.kv_stride % 16 == 0 && p.kv_stride >= p.row_bytes(), Rule::LogitsContiguous, "kv",
             " in its rows, which are a multiple of 16 bytes apart");
  kv_scale.on_device_of(f.q);
  kv_scale.require(f.kv_scale.dtype == (p.is_mx() ? DType::Int32 : DType::Float32),
                   Rule::LogitsScale);
  kv_scale.shaped("keys", {p.keys});
  kv_scale.contiguous();
}

void check_cache(const LogitsFacts& f, LogitsProblem& p) {
  const Argument cache{f.op, "kv_cache", f.kv};
  cache.on_device_of(f.q);
  const std::int64_t width = p.row_bytes() + 4;
  const TensorFacts& c = f.kv;
  cache.require(
      c.rank == 4 && c.dtype == DType::UInt8 && c.sizes[2] == 1 && c.sizes[3] == width &&
          c.strides[3] == 1 && (c.sizes[1] <= 1 || c.strides[1] == width) &&
          (c.sizes[0] <= 1 || (c.strides[0] % 4 == 0 && c.strides[0] >= c.sizes[1] * width)),
      Rule::LogitsCache, width);
  cache.require(c.sizes[1] >= 1 && c.sizes[1] <= 65536, Rule::LogitsPage);
  cache.require(alignment_of(c) >= 4, Rule::LogitsAligned, "kv_cache", 4);
  p.kv_stride = p.row_bytes();
  p.num_blocks = c.sizes[0];
  p.page = c.sizes[1];
  p.block_stride = c.sizes[0] <= 1 ? p.page * width : c.strides[0];
}

// A block table cannot name a block of a cache that has none.
void require_blocks(const LogitsFacts& f, const LogitsProblem& p) {
  Argument{f.op, "kv_cache", f.kv}.require(p.num_blocks > 0 || p.is_empty(), Rule::LogitsBlocks);
}

void settle_output(const LogitsFacts& f, LogitsProblem& p) {
  p.logits_type = output_type(f.bf16_logits);
  p.logits_stride =
      logits_row_stride(p.is_paged || p.is_sparse(), p.is_compressed, p.width, p.logits_type);
  p.alignment = std::min({alignment_of(f.q), alignment_of(f.kv), alignment_of(f.kv_scale)});
}

// Contiguous operands that kernels read sixteen bytes at a time.
void require_aligned(const LogitsFacts& f) {
  for (const Argument& x : {Argument{f.op, "q", f.q}, Argument{f.op, "kv", f.kv}})
    x.require(alignment_of(x.facts) == 16, Rule::LogitsAligned, x.name, 16);
}

}  // namespace

LogitsProblem check_mqa_logits(const LogitsFacts& f) {
  LogitsProblem p;
  check_query(f, 1, p);
  check_keys(f, p);
  check_weights(f, p);
  check_range(f, "cu_seq_len_k_start", f.starts, p.rows);
  check_range(f, "cu_seq_len_k_end", f.ends, p.rows);
  const Refused width{f.op, "max_seqlen_k", std::to_string(f.width)};
  if (f.width < 0) refuse(Rule::LogitsWidth, width, {"max_seqlen_k"});
  p.is_compressed = f.width > 0;
  p.is_clean = f.clean_logits;
  if (p.is_compressed && p.is_clean)
    refuse(Rule::LogitsClean, {f.op, "clean_logits", "True with max_seqlen_k"}, {"compressed"});
  p.width = p.is_compressed ? f.width : p.keys;
  settle_output(f, p);
  require_aligned(f);
  return p;
}

LogitsProblem check_paged_mqa_logits(const LogitsFacts& f) {
  LogitsProblem p;
  p.is_paged = true;
  check_query(f, 2, p);
  const std::int64_t batch = f.q.sizes[0];
  check_cache(f, p);
  check_weights(f, p);
  const Argument lengths{f.op, "context_lens", f.ends}, table{f.op, "block_table", f.table};
  lengths.on_device_of(f.q);
  lengths.int32();
  lengths.shaped("batch, next_n", {batch, p.next_n});
  lengths.contiguous();
  table.on_device_of(f.q);
  table.int32();
  table.rank(2, "batch, pages");
  table.shaped("batch, pages", {batch, f.table.sizes[1]});
  table.require(table.has_packed(1), Rule::LogitsContiguous, "block_table", " in its rows");
  p.table_stride = batch <= 1 ? f.table.sizes[1] : f.table.strides[0];
  const Argument schedule{f.op, "schedule_meta", f.schedule};
  schedule.on_device_of(f.q);
  schedule.int32();
  schedule.rank(2, "num_sms + 1, 2");
  schedule.shaped("num_sms + 1, 2", {std::max<std::int64_t>(f.schedule.sizes[0], 2), 2});
  schedule.contiguous();
  p.slots = f.schedule.sizes[0] - 1;
  if (f.indices) {
    const Argument indices{f.op, "indices", *f.indices};
    indices.on_device_of(f.q);
    indices.int32();
    indices.shaped("batch", {batch});
  }
  if (f.width < 0)
    refuse(Rule::LogitsWidth, {f.op, "max_context_len", std::to_string(f.width)},
           {"max_context_len"});
  if (f.clean_logits) refuse(Rule::LogitsClean, {f.op, "clean_logits", "True"}, {"paged"});
  p.keys = p.width = f.width;
  require_blocks(f, p);
  settle_output(f, p);
  Argument{f.op, "q", f.q}.require(alignment_of(f.q) == 16, Rule::LogitsAligned, "q", 16);
  return p;
}

LogitsProblem check_sparse_mqa_logits(const LogitsFacts& f, bool is_paged) {
  LogitsProblem p;
  p.is_paged = is_paged;
  check_query(f, 1, p);
  if (is_paged) {
    check_cache(f, p);
  } else {
    check_keys(f, p);
  }
  check_weights(f, p);
  check_sparse_sizes(f.op, f.num_sparse_blocks, f.sparse_block, p.page);
  p.sparse_block = static_cast<int>(f.sparse_block);
  const Argument metadata{f.op, "metadata", f.schedule};
  metadata.on_device_of(f.q);
  const std::int64_t bytes = sparse_metadata_bytes(p.rows, f.num_sparse_blocks);
  metadata.require(f.schedule.dtype == DType::UInt8 && f.schedule.rank == 1 &&
                       f.schedule.sizes[0] == bytes && metadata.has_packed(0) &&
                       alignment_of(f.schedule) >= 8,
                   Rule::SparseMetadata, bytes);
  p.keys = p.width = f.num_sparse_blocks * f.sparse_block;
  if (is_paged) require_blocks(f, p);
  settle_output(f, p);
  if (is_paged) {
    Argument{f.op, "q", f.q}.require(alignment_of(f.q) == 16, Rule::LogitsAligned, "q", 16);
  } else {
    require_aligned(f);
  }
  return p;
}

LogitsScheduleProblem check_logits_schedule(const LogitsScheduleFacts& f) {
  const Argument lengths{f.op, "context_lens", f.lengths};
  lengths.require(f.lengths.device != DeviceKind::Other, Rule::DeviceKind);
  lengths.int32();
  lengths.rank(2, "batch, next_n");
  lengths.require(f.lengths.sizes[1] >= 1, Rule::LogitsShape, "context_lens", "batch, next_n",
                  "any, 1 or more");
  lengths.require(lengths.has_packed(1), Rule::LogitsContiguous, "context_lens", " in its rows");
  if (f.block_kv < 1 || f.block_kv > 65536)
    refuse(Rule::LogitsPage, {f.op, "block_kv", std::to_string(f.block_kv)});
  if (f.num_sms < 1)
    refuse(Rule::LogitsWidth, {f.op, "num_sms", std::to_string(f.num_sms)}, {"num_sms - 1"});
  if (f.indices) {
    const Argument indices{f.op, "indices", *f.indices};
    indices.on_device_of(f.lengths);
    indices.int32();
    indices.shaped("batch", {f.lengths.sizes[0]});
  }
  LogitsScheduleProblem p;
  p.batch = f.lengths.sizes[0];
  p.next_n = f.lengths.sizes[1];
  p.lengths_stride = p.batch <= 1 ? p.next_n : f.lengths.strides[0];
  p.slots = f.num_sms;
  p.is_meta = f.lengths.device == DeviceKind::Meta;
  return p;
}

}  // namespace deep_gemm::ops
