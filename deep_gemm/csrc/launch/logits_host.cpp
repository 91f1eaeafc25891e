// A host plan of indexer logits and addresses into the kernel's one parameter.
#include <algorithm>

#include <deep_gemm/csrc/launch/jit.hpp>
#include <deep_gemm/csrc/launch/logits_launch.hpp>
#include <deep_gemm/csrc/source/logits_source.hpp>

namespace deep_gemm {
namespace {

using deep_jit::host::Kernel;

std::shared_ptr<Kernel> compile(const KernelSource& source) {
  try {
    return host_jit().compile(source.name, source.text, host_options(source, {}));
  } catch (const deep_jit::exception::Exception& error) {
    // A compiler that fails is an error; none at all means the reference, where caches hold
    // nothing.
    if (error.kind() != deep_jit::exception::Kind::kToolchain || has_host_compiler(nullptr)) throw;
    return nullptr;
  }
}

class PreparedHostLogits final : public PreparedLogits {
 public:
  PreparedHostLogits(const LogitsProblem& problem, const HostLogitsPlan& plan)
      : params_(params_of(problem, plan.block_rows)), kernel_(compile(source_of(plan))) {
    options_.grid_dim = deep_jit::host::Dim3(plan.grid_x, plan.grid_y);
    options_.num_threads = static_cast<std::uint32_t>(plan.num_threads);
  }

  bool launch(const LogitsAddresses& addresses) const override {
    if (kernel_ == nullptr) return false;
    LogitsParams params = params_;
    put_addresses(params, addresses);
    kernel_->launch(options_, params);
    return true;
  }

 private:
  LogitsParams params_;
  std::shared_ptr<Kernel> kernel_;  // null: nobody could compile it
  deep_jit::host::LaunchOptions options_;
};

class PreparedHostSchedule final : public PreparedLogitsSchedule {
 public:
  explicit PreparedHostSchedule(const LogitsScheduleProblem& p)
      : kernel_(compile(host_logits_schedule_source())) {
    params_.lengths_stride = p.lengths_stride;
    params_.batch = static_cast<int>(p.batch);
    params_.next_n = static_cast<int>(p.next_n);
    params_.slots = static_cast<int>(p.slots);
    options_.grid_dim = deep_jit::host::Dim3(1);
    options_.num_threads = 1;
  }

  bool launch(const LogitsScheduleAddresses& addresses) const override {
    if (kernel_ == nullptr) return false;
    LogitsScheduleParams params = params_;
    params.lengths = static_cast<const int*>(addresses.lengths);
    params.schedule = static_cast<int*>(addresses.schedule);
    kernel_->launch(options_, params);
    return true;
  }

 private:
  LogitsScheduleParams params_{};
  std::shared_ptr<Kernel> kernel_;  // null: nobody could compile it
  deep_jit::host::LaunchOptions options_;
};

// Blocks of the grid, which share the queries.
constexpr std::int64_t kSparseGrid = 64;

class PreparedHostSparseSchedule final : public PreparedSparseSchedule {
 public:
  explicit PreparedHostSparseSchedule(const SparseScheduleProblem& p)
      : params_(params_of(p)), kernel_(compile(host_sparse_schedule_source())) {
    options_.grid_dim = deep_jit::host::Dim3(static_cast<unsigned>(std::min(p.rows, kSparseGrid)));
  }

  bool launch(const SparseScheduleAddresses& addresses) const override {
    if (kernel_ == nullptr) return false;
    SparseScheduleParams params = params_;
    put_addresses(params, addresses);
    kernel_->launch(options_, params);
    return true;
  }

 private:
  SparseScheduleParams params_;
  std::shared_ptr<Kernel> kernel_;  // null: nobody could compile it
  deep_jit::host::LaunchOptions options_;
};

}  // namespace

std::shared_ptr<const PreparedLogits> prepare_host_logits(const LogitsProblem& problem,
                                                          const HostLogitsPlan& plan) {
  return std::make_shared<PreparedHostLogits>(problem, plan);
}

std::shared_ptr<const PreparedLogitsSchedule> prepare_host_logits_schedule(
    const LogitsScheduleProblem& problem) {
  return std::make_shared<PreparedHostSchedule>(problem);
}

std::shared_ptr<const PreparedSparseSchedule> prepare_host_sparse_schedule(
    const SparseScheduleProblem& problem) {
  return std::make_shared<PreparedHostSparseSchedule>(problem);
}

}  // namespace deep_gemm
