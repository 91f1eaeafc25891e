// Indexer logits over chosen blocks of keys, and where those lie. check -> plan -> launch.
#include <torch/csrc/stable/library.h>

#include <deep_gemm/csrc/ops/logits_run.hpp>
#include <deep_gemm/csrc/utils/registry.hpp>

namespace deep_gemm::ops {
namespace {

Tensor run(const LogitsFacts& facts, bool is_paged, const LogitsTensors& tensors) {
  const LogitsProblem problem = check_sparse_mqa_logits(facts, is_paged);
  Tensor logits = new_logits(problem, facts.q);
  launch_or_refer(facts, problem, tensors, logits);
  return logits;
}

Tensor fp8_fp4_sparse_mqa_logits(Tensor q, std::optional<Tensor> q_scale, Tensor kv,
                                 Tensor kv_scale, Tensor weights, Tensor metadata,
                                 std::int64_t num_max_sparse_blocks, std::int64_t sparse_block_kv) {
  return run({.op = "fp8_fp4_sparse_mqa_logits",
              .q = facts_of(q),
              .q_scale = facts_of(q_scale),
              .kv = facts_of(kv),
              .kv_scale = facts_of(kv_scale),
              .weights = facts_of(weights),
              .schedule = facts_of(metadata),
              .bf16_logits = true,
              .num_sparse_blocks = num_max_sparse_blocks,
              .sparse_block = sparse_block_kv},
             false, {q, q_scale, kv, &kv_scale, weights, nullptr, nullptr, nullptr, &metadata});
}

Tensor fp8_fp4_paged_sparse_mqa_logits(Tensor q, std::optional<Tensor> q_scale, Tensor kv_cache,
                                       Tensor weights, Tensor metadata,
                                       std::int64_t num_max_sparse_blocks,
                                       std::int64_t sparse_block_kv) {
  return run({.op = "fp8_fp4_paged_sparse_mqa_logits",
              .q = facts_of(q),
              .q_scale = facts_of(q_scale),
              .kv = facts_of(kv_cache),
              .weights = facts_of(weights),
              .schedule = facts_of(metadata),
              .bf16_logits = true,
              .num_sparse_blocks = num_max_sparse_blocks,
              .sparse_block = sparse_block_kv},
             true, {q, q_scale, kv_cache, nullptr, weights, nullptr, nullptr, nullptr, &metadata});
}

Tensor schedule(const SparseScheduleFacts& facts, const SparseScheduleTensors& tensors) {
  const SparseScheduleProblem problem = check_sparse_schedule(facts);
  Tensor metadata =
      new_bytes(sparse_metadata_bytes(problem.rows, problem.num_blocks), facts.blocks);
  launch_or_refer(facts, problem, tensors, metadata);
  return metadata;
}

Tensor get_sparse_mqa_logits_metadata(Tensor starts, Tensor ends, std::int64_t num_kv_tokens,
                                      Tensor blocks, std::int64_t sparse_block_kv,
                                      bool use_unaligned_ks) {
  return schedule({.op = "get_sparse_mqa_logits_metadata",
                   .starts = facts_of(starts),
                   .ends = facts_of(ends),
                   .blocks = facts_of(blocks),
                   .keys = num_kv_tokens,
                   .block = sparse_block_kv,
                   .is_unaligned = use_unaligned_ks},
                  {&starts, ends, nullptr, blocks});
}

Tensor get_paged_sparse_mqa_logits_metadata(Tensor context_lens, Tensor block_table,
                                            std::optional<Tensor> indices, std::int64_t page_kv,
                                            Tensor blocks, std::int64_t sparse_block_kv) {
  return schedule({.op = "get_paged_sparse_mqa_logits_metadata",
                   .ends = facts_of(context_lens),
                   .table = facts_of(block_table),
                   .indices = facts_of(indices),
                   .blocks = facts_of(blocks),
                   .page = page_kv,
                   .block = sparse_block_kv},
                  {nullptr, context_lens, &block_table, blocks});
}

DG_REGISTER_OP("get_sparse_mqa_logits_metadata", TORCH_BOX(&get_sparse_mqa_logits_metadata));
DG_REGISTER_OP("fp8_fp4_sparse_mqa_logits", TORCH_BOX(&fp8_fp4_sparse_mqa_logits));
DG_REGISTER_OP("get_paged_sparse_mqa_logits_metadata",
               TORCH_BOX(&get_paged_sparse_mqa_logits_metadata));
DG_REGISTER_OP("fp8_fp4_paged_sparse_mqa_logits", TORCH_BOX(&fp8_fp4_paged_sparse_mqa_logits));

}  // namespace
}  // namespace deep_gemm::ops
