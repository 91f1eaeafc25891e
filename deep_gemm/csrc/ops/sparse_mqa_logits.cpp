// Indexer logits over chosen blocks of keys, and where those lie. check -> plan -> launch.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/stableivalue_conversions.h>

#include <deep_gemm/csrc/ops/logits_run.hpp>
#include <deep_gemm/csrc/ops/new_tensor.hpp>
#include <deep_gemm/csrc/ops/reference_call.hpp>
#include <deep_gemm/csrc/ops/sparse_schedule_check.hpp>
#include <deep_gemm/csrc/utils/state.hpp>

namespace deep_gemm::ops {
namespace {

using torch::stable::detail::from;

bool fp8_fp4_sparse_mqa_logits(ReturningCall& call, const Arg& q, const std::optional<Arg>& q_scale,
                               const Arg& kv, const Arg& kv_scale, const Arg& weights,
                               const Arg& metadata, std::int64_t num_max_sparse_blocks,
                               std::int64_t sparse_block_kv) {
  const LogitsFacts facts{.op = "fp8_fp4_sparse_mqa_logits",
                          .q = q.facts,
                          .q_scale = facts_of(q_scale),
                          .kv = kv.facts,
                          .kv_scale = kv_scale.facts,
                          .weights = weights.facts,
                          .schedule = metadata.facts,
                          .bf16_logits = true,
                          .num_sparse_blocks = num_max_sparse_blocks,
                          .sparse_block = sparse_block_kv};
  return run_logits(call, facts, check_sparse_mqa_logits(facts, false),
                    {.q = q.tensor,
                     .q_scale = tensor_of(q_scale),
                     .kv = kv.tensor,
                     .kv_scale = kv_scale.tensor,
                     .weights = weights.tensor,
                     .metadata = metadata.tensor});
}

bool fp8_fp4_paged_sparse_mqa_logits(ReturningCall& call, const Arg& q,
                                     const std::optional<Arg>& q_scale, const Arg& kv_cache,
                                     const Arg& weights, const Arg& metadata,
                                     std::int64_t num_max_sparse_blocks,
                                     std::int64_t sparse_block_kv) {
  const LogitsFacts facts{.op = "fp8_fp4_paged_sparse_mqa_logits",
                          .q = q.facts,
                          .q_scale = facts_of(q_scale),
                          .kv = kv_cache.facts,
                          .weights = weights.facts,
                          .schedule = metadata.facts,
                          .bf16_logits = true,
                          .num_sparse_blocks = num_max_sparse_blocks,
                          .sparse_block = sparse_block_kv};
  return run_logits(call, facts, check_sparse_mqa_logits(facts, true),
                    {.q = q.tensor,
                     .q_scale = tensor_of(q_scale),
                     .kv = kv_cache.tensor,
                     .weights = weights.tensor,
                     .metadata = metadata.tensor});
}

// What the entries are computed from.
struct ScheduleTensors {
  std::optional<Tensor> starts;
  Tensor ends;
  std::optional<Tensor> table;
  Tensor blocks;
};

Tensor schedule(const SparseScheduleFacts& facts, const ScheduleTensors& t) {
  const SparseScheduleProblem p = check_sparse_schedule(facts);
  Tensor metadata =
      new_tensor(DType::UInt8, {sparse_metadata_bytes(p.rows, p.num_blocks)}, facts.blocks);
  if (p.is_meta || p.rows == 0) return metadata;
  const Knobs knobs = current_knobs();
  const auto address = [](const std::optional<Tensor>& tensor) {
    return tensor ? tensor->data_ptr() : nullptr;
  };
  const SparseScheduleAddresses at{address(t.starts), t.ends.data_ptr(), address(t.table),
                                   t.blocks.data_ptr(), metadata.data_ptr()};
  if (launch_sparse_schedule(p, placement_of(facts.blocks, knobs), knobs, at)) return metadata;
  std::vector<StableIValue> stack = {
      from(t.starts),      from(t.ends), from(t.table), from(t.blocks),
      from(metadata),      from(p.keys), from(p.page),  from(static_cast<std::int64_t>(p.block)),
      from(p.is_unaligned)};
  call_reference_operator(facts.op, "_reference_sparse_schedule", stack);
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
                  {starts, ends, std::nullopt, blocks});
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
                  {std::nullopt, context_lens, block_table, blocks});
}

DG_REGISTER_OP("get_sparse_mqa_logits_metadata", TORCH_BOX(&get_sparse_mqa_logits_metadata));
DG_OPERATOR("fp8_fp4_sparse_mqa_logits", &fp8_fp4_sparse_mqa_logits);
DG_REGISTER_OP("get_paged_sparse_mqa_logits_metadata",
               TORCH_BOX(&get_paged_sparse_mqa_logits_metadata));
DG_OPERATOR("fp8_fp4_paged_sparse_mqa_logits", &fp8_fp4_paged_sparse_mqa_logits);

}  // namespace
}  // namespace deep_gemm::ops
