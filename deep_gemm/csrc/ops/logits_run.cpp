#include <deep_gemm/csrc/ops/logits_run.hpp>

#include <vector>

#include <torch/csrc/stable/stableivalue_conversions.h>

#include <deep_gemm/csrc/ops/reference_call.hpp>
#include <deep_gemm/csrc/problem/sizes.hpp>
#include <deep_gemm/csrc/utils/state.hpp>

namespace deep_gemm::ops {
namespace {

using torch::stable::detail::from;

// Rows as far apart as the problem says; the storage has whole rows, and rows of whole groups of
// queries.
NewMatrix matrix_of(const LogitsProblem& p) {
  return {.dtype = p.logits_type == OutputType::Bf16 ? DType::BFloat16 : DType::Float32,
          .rows = p.rows,
          .columns = p.width,
          .stride = p.logits_stride,
          .stored_rows = round_up(p.rows, 128 / p.heads)};
}

LogitsAddresses addresses_of(const LogitsFacts& f) {
  LogitsAddresses at;
  at.q = address_of(f.q);
  at.q_scale = address_of(f.q_scale);
  at.kv = address_of(f.kv);
  at.kv_scale = address_of(f.kv_scale);
  at.weights = address_of(f.weights);
  at.starts = address_of(f.starts);
  at.ends = address_of(f.ends);
  at.table = address_of(f.table);
  at.schedule = address_of(f.schedule);
  return at;
}

// Allocates between the look-up and the launch: a warm call that steps aside has allocated nothing.
template <class Problem, class Addresses>
bool run_warm(ReturningCall& call, const Problem& problem, const Placement& placement,
              const Knobs& knobs, const NewMatrix& matrix, const TensorFacts& like, Addresses& at,
              void* Addresses::* result) {
  const auto prepared = find_prepared<Addresses>(problem, placement, knobs);
  if (prepared == nullptr || (at.*result = call.allocate(matrix, like)) == nullptr) return false;
  call.launching();
  return prepared->launch(at);
}

std::optional<Tensor> optional_of(const Tensor* tensor) {
  return tensor == nullptr ? std::nullopt : std::optional<Tensor>(*tensor);
}

void call_sparse_reference(const LogitsFacts& f, const LogitsProblem& p, const LogitsTensors& t,
                           const Tensor& logits) {
  std::vector<StableIValue> stack = {
      from(*t.q),       from(optional_of(t.q_scale)),
      from(*t.kv),      from(optional_of(t.kv_scale)),
      from(*t.weights), from(*t.metadata),
      from(logits),     from(static_cast<std::int64_t>(p.sparse_block))};
  call_reference_operator(f.op, "_reference_sparse_mqa_logits", stack);
}

void call_reference(const LogitsFacts& f, const LogitsProblem& p, const LogitsTensors& t,
                    const Tensor& logits) {
  if (p.is_sparse()) return call_sparse_reference(f, p, t, logits);
  const std::optional<Tensor> q_scale = optional_of(t.q_scale);
  std::vector<StableIValue> stack = {from(*t.q), from(q_scale), from(*t.kv)};
  if (!p.is_paged) stack.push_back(from(*t.kv_scale));
  stack.push_back(from(*t.weights));
  if (!p.is_paged) stack.push_back(from(*t.starts));
  stack.push_back(from(*t.ends));
  if (p.is_paged) stack.push_back(from(*t.table));
  stack.push_back(from(logits));
  if (!p.is_paged) {
    stack.push_back(from(p.is_compressed));
    stack.push_back(from(p.is_clean));
  }
  call_reference_operator(
      f.op, p.is_paged ? "_reference_paged_mqa_logits" : "_reference_mqa_logits", stack);
}

}  // namespace

bool run_logits(ReturningCall& call, const LogitsFacts& f, const LogitsProblem& p,
                const LogitsTensors& t) {
  const bool is_trivial = p.is_empty() || p.keys == 0;
  const Knobs knobs = current_knobs();
  const Placement placement = placement_of(f.q, knobs);
  LogitsAddresses at = addresses_of(f);
  if (call.is_warm())
    return !is_trivial &&
           run_warm(call, p, placement, knobs, matrix_of(p), f.q, at, &LogitsAddresses::logits);
  at.logits = call.allocate(matrix_of(p), f.q);
  if (!is_trivial && !launch_logits(f.op, p, placement, knobs, at))
    call_reference(f, p, t, result_of(call));
  return true;
}

bool run_logits_schedule(ReturningCall& call, const LogitsScheduleFacts& f,
                         const LogitsScheduleProblem& p, const Tensor* lengths) {
  const Knobs knobs = current_knobs();
  const Placement placement = placement_of(f.lengths, knobs);
  const NewMatrix matrix{.dtype = DType::Int32,
                         .rows = p.slots + 1,
                         .columns = 2,
                         .stride = 2,
                         .stored_rows = p.slots + 1};
  LogitsScheduleAddresses at{address_of(f.lengths), nullptr};
  if (call.is_warm())
    return run_warm(call, p, placement, knobs, matrix, f.lengths, at,
                    &LogitsScheduleAddresses::schedule);
  at.schedule = call.allocate(matrix, f.lengths);
  if (launch_logits_schedule(p, placement, knobs, at)) return true;
  std::vector<StableIValue> stack = {from(*lengths), from(result_of(call))};
  call_reference_operator(f.op, "_reference_logits_schedule", stack);
  return true;
}

}  // namespace deep_gemm::ops
