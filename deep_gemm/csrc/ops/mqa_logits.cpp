// Indexer logits over contiguous keys. check -> plan -> launch; holds no numbers of its own.
#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <deep_gemm/csrc/ops/logits_run.hpp>
#include <deep_gemm/csrc/ops/new_tensor.hpp>
#include <deep_jit/utils/exception.hpp>

namespace deep_gemm::ops {
namespace {

bool fp8_fp4_mqa_logits(ReturningCall& call, const Arg& q, const std::optional<Arg>& q_scale,
                        const Arg& kv, const Arg& kv_scale, const Arg& weights, const Arg& starts,
                        const Arg& ends, bool clean_logits, std::int64_t max_seqlen_k,
                        bool bf16_logits) {
  const LogitsFacts facts{.op = "fp8_fp4_mqa_logits",
                          .q = q.facts,
                          .q_scale = facts_of(q_scale),
                          .kv = kv.facts,
                          .kv_scale = kv_scale.facts,
                          .weights = weights.facts,
                          .starts = starts.facts,
                          .ends = ends.facts,
                          .width = max_seqlen_k,
                          .clean_logits = clean_logits,
                          .bf16_logits = bf16_logits};
  return run_logits(call, facts, check_mqa_logits(facts),
                    {q.tensor, tensor_of(q_scale), kv.tensor, kv_scale.tensor, weights.tensor,
                     starts.tensor, ends.tensor});
}

bool fp8_mqa_logits(ReturningCall& call, const Arg& q, const Arg& kv, const Arg& kv_scale,
                    const Arg& weights, const Arg& starts, const Arg& ends, bool clean_logits,
                    std::int64_t max_seqlen_k) {
  const LogitsFacts facts{.op = "fp8_mqa_logits",
                          .q = q.facts,
                          .kv = kv.facts,
                          .kv_scale = kv_scale.facts,
                          .weights = weights.facts,
                          .starts = starts.facts,
                          .ends = ends.facts,
                          .width = max_seqlen_k,
                          .clean_logits = clean_logits};
  return run_logits(
      call, facts, check_mqa_logits(facts),
      {q.tensor, nullptr, kv.tensor, kv_scale.tensor, weights.tensor, starts.tensor, ends.tensor});
}

// Blocks find their own shares of contiguous keys, so there is nothing to tell them.
Tensor get_mqa_logits_metadata(Tensor starts, Tensor /*ends*/, std::int64_t /*num_kv_tokens*/,
                               std::int64_t /*num_heads*/) {
  Tensor metadata = new_tensor(DType::Int32, {1}, facts_of(starts));
  if (aoti_torch_zero_(metadata.get()) != 0) DJ_PANIC("torch could not clear the metadata");
  return metadata;
}

DG_OPERATOR("fp8_mqa_logits", &fp8_mqa_logits);
DG_OPERATOR("fp8_fp4_mqa_logits", &fp8_fp4_mqa_logits);
DG_REGISTER_OP("get_mqa_logits_metadata", TORCH_BOX(&get_mqa_logits_metadata));

}  // namespace
}  // namespace deep_gemm::ops
