// What is computed ahead of indexer logits, described. Keys are the arguments of the schemas.
#include <deep_gemm/csrc/described.hpp>
#include <deep_gemm/csrc/ops/logits_check.hpp>
#include <deep_gemm/csrc/ops/sparse_schedule_check.hpp>
#include <deep_gemm/csrc/source/logits_source.hpp>

namespace deep_gemm {
namespace {

DescribedPlan one_kernel(const DeviceTraits& traits, const KernelSource& host,
                         const KernelSource& portable) {
  return traits.is_cuda() ? DescribedPlan{"portable schedule", portable}
                          : DescribedPlan{"host schedule", host};
}

DescribedPlan plan_sparse(const ops::Description& call, const DeviceTraits& traits) {
  const bool is_paged = call.op == "get_paged_sparse_mqa_logits_metadata";
  ops::SparseScheduleFacts f{.op = call.op,
                             .ends = call.tensor(is_paged ? "context_lens" : "cu_seq_len_k_end"),
                             .blocks = call.tensor("sparse_kv_block_indices"),
                             .keys = call.number("num_kv_tokens"),
                             .page = call.number("page_kv"),
                             .block = call.number("sparse_block_kv"),
                             .is_unaligned = call.number("use_unaligned_ks") != 0};
  if (is_paged) {
    f.table = call.tensor("block_table");
    f.indices = call.optional_tensor("indices");
  } else {
    f.starts = call.tensor("cu_seq_len_k_start");
  }
  if (ops::check_sparse_schedule(f).rows == 0) return {};
  return one_kernel(traits, host_sparse_schedule_source(), portable_sparse_schedule_source());
}

DescribedPlan plan(const ops::Description& call, const DeviceTraits& traits, const Knobs&) {
  if (call.op == "get_mqa_logits_metadata") return {};  // a constant
  if (call.op != "get_paged_mqa_logits_metadata") return plan_sparse(call, traits);
  ops::check_logits_schedule({.op = call.op,
                              .lengths = call.tensor("context_lens"),
                              .indices = call.optional_tensor("indices"),
                              .block_kv = call.number("block_kv"),
                              .num_sms = call.number("num_sms")});
  return one_kernel(traits, host_logits_schedule_source(), portable_logits_schedule_source());
}

const FamilyRegistration registration({
    .ops = {"get_mqa_logits_metadata", "get_paged_mqa_logits_metadata",
            "get_sparse_mqa_logits_metadata", "get_paged_sparse_mqa_logits_metadata"},
    .keys = {"cu_seq_len_k_start", "cu_seq_len_k_end", "num_kv_tokens", "num_heads", "context_lens",
             "block_kv", "num_sms", "indices", "block_table", "page_kv", "sparse_kv_block_indices",
             "sparse_block_kv", "use_unaligned_ks"},
    .plan = &plan,
});

}  // namespace
}  // namespace deep_gemm
