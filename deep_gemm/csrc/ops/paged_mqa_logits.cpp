// Indexer logits over paged keys, and their schedule. check -> plan -> launch.
#include <deep_gemm/csrc/ops/logits_run.hpp>

namespace deep_gemm::ops {
namespace {

bool fp8_fp4_paged_mqa_logits(ReturningCall& call, const Arg& q, const std::optional<Arg>& q_scale,
                              const Arg& kv_cache, const Arg& weights, const Arg& context_lens,
                              const Arg& block_table, const Arg& schedule_meta,
                              std::int64_t max_context_len, bool clean_logits, bool bf16_logits,
                              const std::optional<Arg>& indices) {
  const LogitsFacts facts{.op = "fp8_fp4_paged_mqa_logits",
                          .q = q.facts,
                          .q_scale = facts_of(q_scale),
                          .kv = kv_cache.facts,
                          .weights = weights.facts,
                          .ends = context_lens.facts,
                          .table = block_table.facts,
                          .schedule = schedule_meta.facts,
                          .indices = facts_of(indices),
                          .width = max_context_len,
                          .clean_logits = clean_logits,
                          .bf16_logits = bf16_logits};
  return run_logits(call, facts, check_paged_mqa_logits(facts),
                    {q.tensor, tensor_of(q_scale), kv_cache.tensor, nullptr, weights.tensor,
                     nullptr, context_lens.tensor, block_table.tensor});
}

bool fp8_paged_mqa_logits(ReturningCall& call, const Arg& q, const Arg& kv_cache,
                          const Arg& weights, const Arg& context_lens, const Arg& block_table,
                          const Arg& schedule_meta, std::int64_t max_context_len, bool clean_logits,
                          const std::optional<Arg>& indices) {
  const LogitsFacts facts{.op = "fp8_paged_mqa_logits",
                          .q = q.facts,
                          .kv = kv_cache.facts,
                          .weights = weights.facts,
                          .ends = context_lens.facts,
                          .table = block_table.facts,
                          .schedule = schedule_meta.facts,
                          .indices = facts_of(indices),
                          .width = max_context_len,
                          .clean_logits = clean_logits};
  return run_logits(call, facts, check_paged_mqa_logits(facts),
                    {q.tensor, nullptr, kv_cache.tensor, nullptr, weights.tensor, nullptr,
                     context_lens.tensor, block_table.tensor});
}

bool get_paged_mqa_logits_metadata(ReturningCall& call, const Arg& context_lens,
                                   std::int64_t block_kv, std::int64_t num_sms,
                                   const std::optional<Arg>& indices) {
  const LogitsScheduleFacts facts{.op = "get_paged_mqa_logits_metadata",
                                  .lengths = context_lens.facts,
                                  .indices = facts_of(indices),
                                  .block_kv = block_kv,
                                  .num_sms = num_sms};
  return run_logits_schedule(call, facts, check_logits_schedule(facts), context_lens.tensor);
}

DG_OPERATOR("fp8_paged_mqa_logits", &fp8_paged_mqa_logits);
DG_OPERATOR("fp8_fp4_paged_mqa_logits", &fp8_fp4_paged_mqa_logits);
DG_OPERATOR("get_paged_mqa_logits_metadata", &get_paged_mqa_logits_metadata);

}  // namespace
}  // namespace deep_gemm::ops
