#include <deep_gemm/csrc/launch/logits_launch.hpp>

#include <deep_gemm/csrc/launch/jit.hpp>

namespace deep_gemm {
namespace {

std::shared_ptr<const PreparedLogits> prepare(std::string_view op, const LogitsProblem& problem,
                                              const Placement& placement, const Knobs& knobs) {
  const LogitsPlan plan = plan_logits(problem, traits_at(placement), knobs, op);
  if (const auto* host = std::get_if<HostLogitsPlan>(&plan))
    return prepare_host_logits(problem, *host);
  return prepare_cuda_logits(problem, plan, placement.index, knobs);
}

}  // namespace

LogitsParams params_of(const LogitsProblem& p, int block_rows) {
  LogitsParams params{};
  params.kv_stride = p.kv_stride;
  params.block_stride = p.block_stride;
  params.weights_stride = p.weights_stride;
  params.logits_stride = p.logits_stride;
  params.table_stride = p.table_stride;
  params.rows = p.rows;
  params.keys = p.keys;
  params.heads = p.heads;
  params.next_n = static_cast<int>(p.next_n);
  params.page = static_cast<int>(p.page);
  params.block_rows = block_rows;
  params.compressed = p.is_compressed;
  params.clean = p.is_clean;
  params.bf16_weights = p.weights_type == OutputType::Bf16;
  params.bf16_logits = p.logits_type == OutputType::Bf16;
  params.width = p.width;
  params.slots = static_cast<int>(p.slots);
  return params;
}

void put_addresses(LogitsParams& params, const LogitsAddresses& at) {
  params.q = at.q;
  params.q_scale = at.q_scale;
  params.kv = at.kv;
  params.kv_scale = at.kv_scale;
  params.weights = at.weights;
  params.starts = static_cast<const int*>(at.starts);
  params.ends = static_cast<const int*>(at.ends);
  params.table = static_cast<const int*>(at.table);
  params.schedule = static_cast<const int*>(at.schedule);
  params.logits = at.logits;
}

SparseScheduleParams params_of(const SparseScheduleProblem& p) {
  SparseScheduleParams params{};
  params.rows = p.rows;
  params.keys = p.keys;
  params.table_stride = p.table_stride;
  params.num_blocks = static_cast<int>(p.num_blocks);
  params.block = p.block;
  params.unaligned = p.is_unaligned;
  params.page = static_cast<int>(p.page);
  return params;
}

void put_addresses(SparseScheduleParams& params, const SparseScheduleAddresses& at) {
  params.starts = static_cast<const int*>(at.starts);
  params.ends = static_cast<const int*>(at.ends);
  params.blocks = static_cast<const int*>(at.blocks);
  params.table = static_cast<const int*>(at.table);
  params.entries = static_cast<SparseEntry*>(at.entries);
}

bool launch_logits(std::string_view op, const LogitsProblem& problem, const Placement& placement,
                   const Knobs& knobs, const LogitsAddresses& addresses) {
  return launch_prepared(problem, placement, knobs, addresses,
                         [&] { return prepare(op, problem, placement, knobs); });
}

bool launch_logits_schedule(const LogitsScheduleProblem& problem, const Placement& placement,
                            const Knobs& knobs, const LogitsScheduleAddresses& addresses) {
  return launch_prepared(problem, placement, knobs, addresses, [&] {
    return placement.kind == DeviceTraits::Kind::Host
               ? prepare_host_logits_schedule(problem)
               : prepare_cuda_logits_schedule(problem, placement.index, knobs);
  });
}

bool launch_sparse_schedule(const SparseScheduleProblem& problem, const Placement& placement,
                            const Knobs& knobs, const SparseScheduleAddresses& addresses) {
  return launch_prepared(problem, placement, knobs, addresses, [&] {
    return placement.kind == DeviceTraits::Kind::Host
               ? prepare_host_sparse_schedule(problem)
               : prepare_cuda_sparse_schedule(problem, placement.index, knobs);
  });
}

}  // namespace deep_gemm
