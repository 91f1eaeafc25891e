// Indexer logits, described. Keys are the arguments of the schema; `width` is max_seqlen_k or
// max_context_len.
#include <deep_gemm/csrc/described.hpp>
#include <deep_gemm/csrc/ops/logits_check.hpp>
#include <deep_gemm/csrc/plan/logits_plan.hpp>
#include <deep_gemm/csrc/source/logits_source.hpp>

namespace deep_gemm {
namespace {

LogitsProblem check(const ops::Description& call) {
  ops::LogitsFacts f{.op = call.op,
                     .q = call.tensor("q"),
                     .q_scale = call.optional_tensor("q_scale"),
                     .weights = call.tensor("weights"),
                     .width = call.number("width"),
                     .clean_logits = call.number("clean_logits") != 0,
                     .bf16_logits = call.number("bf16_logits") != 0};
  const bool is_paged = call.op.find("paged") != std::string::npos;
  if (call.op.find("sparse") != std::string::npos) {
    f.kv = call.tensor(is_paged ? "kv_cache" : "kv");
    if (!is_paged) f.kv_scale = call.tensor("kv_scale");
    f.schedule = call.tensor("metadata");
    f.num_sparse_blocks = call.number("num_sparse_blocks");
    f.sparse_block = call.number("sparse_block");
    return ops::check_sparse_mqa_logits(f, is_paged);
  }
  if (!is_paged) {
    f.kv = call.tensor("kv");
    f.kv_scale = call.tensor("kv_scale");
    f.starts = call.tensor("starts");
    f.ends = call.tensor("ends");
    return ops::check_mqa_logits(f);
  }
  f.kv = call.tensor("kv_cache");
  f.ends = call.tensor("context_lens");
  f.table = call.tensor("block_table");
  f.schedule = call.tensor("schedule_meta");
  f.indices = call.optional_tensor("indices");
  return ops::check_paged_mqa_logits(f);
}

DescribedPlan plan(const ops::Description& call, const DeviceTraits& traits, const Knobs& knobs) {
  const LogitsProblem problem = check(call);
  if (problem.is_empty() || problem.keys == 0) return {};
  const LogitsPlan chosen = plan_logits(problem, traits, knobs, call.op);
  return {to_line(chosen), source_of(chosen)};
}

const FamilyRegistration registration({
    .ops = {"fp8_mqa_logits", "fp8_fp4_mqa_logits", "fp8_paged_mqa_logits",
            "fp8_fp4_paged_mqa_logits", "fp8_fp4_sparse_mqa_logits",
            "fp8_fp4_paged_sparse_mqa_logits"},
    .keys = {"q", "q_scale", "kv", "kv_scale", "weights", "starts", "ends", "kv_cache",
             "context_lens", "block_table", "schedule_meta", "indices", "width", "clean_logits",
             "bf16_logits", "metadata", "num_sparse_blocks", "sparse_block"},
    .plan = &plan,
});

}  // namespace
}  // namespace deep_gemm
