// Indexer logits over contiguous keys. check -> plan -> launch; holds no numbers of its own.
#include <torch/csrc/stable/library.h>

#include <deep_gemm/csrc/ops/logits_run.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_gemm/csrc/utils/registry.hpp>
#include <deep_gemm/csrc/utils/state.hpp>
#include <deep_jit/utils/exception.hpp>

namespace deep_gemm::ops {
namespace {

Tensor run(const LogitsFacts& facts, const LogitsTensors& tensors) {
  const LogitsProblem problem = check_mqa_logits(facts);
  Tensor logits = new_logits(problem, facts.q);
  launch_or_refer(facts, problem, tensors, logits);
  return logits;
}

Tensor fp8_fp4_mqa_logits(Tensor q, std::optional<Tensor> q_scale, Tensor kv, Tensor kv_scale,
                          Tensor weights, Tensor starts, Tensor ends, bool clean_logits,
                          std::int64_t max_seqlen_k, bool bf16_logits) {
  return run({.op = "fp8_fp4_mqa_logits",
              .q = facts_of(q),
              .q_scale = facts_of(q_scale),
              .kv = facts_of(kv),
              .kv_scale = facts_of(kv_scale),
              .weights = facts_of(weights),
              .starts = facts_of(starts),
              .ends = facts_of(ends),
              .width = max_seqlen_k,
              .clean_logits = clean_logits,
              .bf16_logits = bf16_logits},
             {q, q_scale, kv, &kv_scale, weights, &starts, &ends, nullptr, nullptr});
}

Tensor fp8_mqa_logits(Tensor q, Tensor kv, Tensor kv_scale, Tensor weights, Tensor starts,
                      Tensor ends, bool clean_logits, std::int64_t max_seqlen_k) {
  return run({.op = "fp8_mqa_logits",
              .q = facts_of(q),
              .kv = facts_of(kv),
              .kv_scale = facts_of(kv_scale),
              .weights = facts_of(weights),
              .starts = facts_of(starts),
              .ends = facts_of(ends),
              .width = max_seqlen_k,
              .clean_logits = clean_logits},
             {q, std::nullopt, kv, &kv_scale, weights, &starts, &ends, nullptr, nullptr});
}

// Blocks find their own shares of contiguous keys, so there is nothing to tell them.
Tensor get_mqa_logits_metadata(Tensor starts, Tensor /*ends*/, std::int64_t /*num_kv_tokens*/,
                               std::int64_t /*num_heads*/) {
  Tensor metadata = new_int32({1}, facts_of(starts));
  if (aoti_torch_zero_(metadata.get()) != 0) DJ_PANIC("torch could not clear the metadata");
  return metadata;
}

DG_REGISTER_OP("fp8_mqa_logits", TORCH_BOX(&fp8_mqa_logits));
DG_REGISTER_OP("fp8_fp4_mqa_logits", TORCH_BOX(&fp8_fp4_mqa_logits));
DG_REGISTER_OP("get_mqa_logits_metadata", TORCH_BOX(&get_mqa_logits_metadata));

}  // namespace
}  // namespace deep_gemm::ops
