// From a valid problem and addresses to finished (or enqueued) indexer logits, and to the schedule
// of paged ones.
//   if (launch_logits("fp8_mqa_logits", problem, placement, knobs, addresses)) return;
//   // false: there is no compiler on this machine, and no kernel in any cache
// The first call of a problem plans, compiles and loads; later ones look the result up and fill in
// addresses. Leaves plans to plan/ and parameters to logits_host.cpp and logits_cuda.cpp.
#pragma once

#include <memory>
#include <string_view>

#include <deep_gemm/abi/sparse_params.h>
#include <deep_gemm/csrc/launch/placement.hpp>
#include <deep_gemm/csrc/launch/prepared.hpp>
#include <deep_gemm/csrc/plan/knobs.hpp>
#include <deep_gemm/csrc/plan/logits_plan.hpp>
#include <deep_gemm/csrc/problem/logits_problem.hpp>

namespace deep_gemm {

struct LogitsAddresses {
  const void* q = nullptr;
  const void* q_scale = nullptr;
  const void* kv = nullptr;
  const void* kv_scale = nullptr;
  const void* weights = nullptr;
  const void* starts = nullptr;
  const void* ends = nullptr;
  const void* table = nullptr;
  const void* schedule = nullptr;
  void* logits = nullptr;
};

struct LogitsScheduleAddresses {
  const void* lengths = nullptr;
  void* schedule = nullptr;
};

struct SparseScheduleAddresses {
  const void* starts = nullptr;
  const void* ends = nullptr;
  const void* table = nullptr;
  const void* blocks = nullptr;
  void* entries = nullptr;
};

bool launch_logits(std::string_view op, const LogitsProblem& problem, const Placement& placement,
                   const Knobs& knobs, const LogitsAddresses& addresses);
bool launch_logits_schedule(const LogitsScheduleProblem& problem, const Placement& placement,
                            const Knobs& knobs, const LogitsScheduleAddresses& addresses);
bool launch_sparse_schedule(const SparseScheduleProblem& problem, const Placement& placement,
                            const Knobs& knobs, const SparseScheduleAddresses& addresses);

using PreparedLogits = Prepared<LogitsAddresses>;
using PreparedLogitsSchedule = Prepared<LogitsScheduleAddresses>;
using PreparedSparseSchedule = Prepared<SparseScheduleAddresses>;

// What every kernel but the tuned ones is told, without addresses.
LogitsParams params_of(const LogitsProblem& problem, int block_rows);
void put_addresses(LogitsParams& params, const LogitsAddresses& addresses);
SparseScheduleParams params_of(const SparseScheduleProblem& problem);
void put_addresses(SparseScheduleParams& params, const SparseScheduleAddresses& addresses);

// logits_host.cpp. Throws Toolchain when compiling fails; a machine without compiler is no failure.
std::shared_ptr<const PreparedLogits> prepare_host_logits(const LogitsProblem& problem,
                                                          const HostLogitsPlan& plan);
std::shared_ptr<const PreparedLogitsSchedule> prepare_host_logits_schedule(
    const LogitsScheduleProblem& problem);
std::shared_ptr<const PreparedSparseSchedule> prepare_host_sparse_schedule(
    const SparseScheduleProblem& problem);

// logits_cuda.cpp
std::shared_ptr<const PreparedLogits> prepare_cuda_logits(const LogitsProblem& problem,
                                                          const LogitsPlan& plan, int device,
                                                          const Knobs& knobs);
std::shared_ptr<const PreparedLogitsSchedule> prepare_cuda_logits_schedule(
    const LogitsScheduleProblem& problem, int device, const Knobs& knobs);
std::shared_ptr<const PreparedSparseSchedule> prepare_cuda_sparse_schedule(
    const SparseScheduleProblem& problem, int device, const Knobs& knobs);

}  // namespace deep_gemm
