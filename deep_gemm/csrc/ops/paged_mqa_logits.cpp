// Indexer logits over paged keys, and their schedule. check -> plan -> launch.
#include <torch/csrc/stable/library.h>

#include <deep_gemm/csrc/ops/logits_run.hpp>
#include <deep_gemm/csrc/utils/registry.hpp>

namespace deep_gemm::ops {
namespace {

Tensor run(const LogitsFacts& facts, const LogitsTensors& tensors) {
  const LogitsProblem problem = check_paged_mqa_logits(facts);
  Tensor logits = new_logits(problem, facts.q);
  launch_or_refer(facts, problem, tensors, logits);
  return logits;
}

Tensor fp8_fp4_paged_mqa_logits(Tensor q, std::optional<Tensor> q_scale, Tensor kv_cache,
                                Tensor weights, Tensor context_lens, Tensor block_table,
                                Tensor schedule_meta, std::int64_t max_context_len,
                                bool clean_logits, bool bf16_logits,
                                std::optional<Tensor> indices) {
  return run({.op = "fp8_fp4_paged_mqa_logits",
              .q = facts_of(q),
              .q_scale = facts_of(q_scale),
              .kv = facts_of(kv_cache),
              .weights = facts_of(weights),
              .ends = facts_of(context_lens),
              .table = facts_of(block_table),
              .schedule = facts_of(schedule_meta),
              .indices = facts_of(indices),
              .width = max_context_len,
              .clean_logits = clean_logits,
              .bf16_logits = bf16_logits},
             {q, q_scale, kv_cache, nullptr, weights, nullptr, &context_lens, &block_table,
              &schedule_meta});
}

Tensor fp8_paged_mqa_logits(Tensor q, Tensor kv_cache, Tensor weights, Tensor context_lens,
                            Tensor block_table, Tensor schedule_meta, std::int64_t max_context_len,
                            bool clean_logits, std::optional<Tensor> indices) {
  return run({.op = "fp8_paged_mqa_logits",
              .q = facts_of(q),
              .kv = facts_of(kv_cache),
              .weights = facts_of(weights),
              .ends = facts_of(context_lens),
              .table = facts_of(block_table),
              .schedule = facts_of(schedule_meta),
              .indices = facts_of(indices),
              .width = max_context_len,
              .clean_logits = clean_logits},
             {q, std::nullopt, kv_cache, nullptr, weights, nullptr, &context_lens, &block_table,
              &schedule_meta});
}

Tensor get_paged_mqa_logits_metadata(Tensor context_lens, std::int64_t block_kv,
                                     std::int64_t num_sms, std::optional<Tensor> indices) {
  const LogitsScheduleFacts facts{.op = "get_paged_mqa_logits_metadata",
                                  .lengths = facts_of(context_lens),
                                  .indices = facts_of(indices),
                                  .block_kv = block_kv,
                                  .num_sms = num_sms};
  const LogitsScheduleProblem problem = check_logits_schedule(facts);
  Tensor schedule = new_int32({num_sms + 1, 2}, facts.lengths);
  launch_or_refer(facts, problem, context_lens, schedule);
  return schedule;
}

DG_REGISTER_OP("fp8_paged_mqa_logits", TORCH_BOX(&fp8_paged_mqa_logits));
DG_REGISTER_OP("fp8_fp4_paged_mqa_logits", TORCH_BOX(&fp8_fp4_paged_mqa_logits));
DG_REGISTER_OP("get_paged_mqa_logits_metadata", TORCH_BOX(&get_paged_mqa_logits_metadata));

}  // namespace
}  // namespace deep_gemm::ops
