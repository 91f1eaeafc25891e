// A CUDA plan of indexer logits and addresses into the kernel's one parameter.
#include <deep_gemm/csrc/launch/jit_cuda.hpp>
#include <deep_gemm/csrc/launch/logits_launch.hpp>
#include <deep_gemm/csrc/source/logits_source.hpp>

namespace deep_gemm {
namespace {

using deep_jit::cuda::Kernel;

class PreparedPortableLogits final : public PreparedLogits {
 public:
  PreparedPortableLogits(const LogitsProblem& problem, const PortableLogitsPlan& plan, int device,
                         const Knobs& knobs)
      : params_(params_of(problem, plan.block_rows)),
        kernel_(compile_cuda(source_of(plan), device)) {
    options_.num_smem_bytes = plan.smem_bytes;
    options_.grid_dim = deep_jit::cuda::Dim3(plan.grid_x, plan.grid_y);
    options_.block_dim = deep_jit::cuda::Dim3(kPortableLogitsThreads);
    options_.enable_pdl = knobs.pdl != 0;
  }

  bool launch(const LogitsAddresses& addresses) const override {
    LogitsParams params = params_;
    put_addresses(params, addresses);
    kernel_->launch(options_, params);
    return true;
  }

 private:
  LogitsParams params_;
  std::shared_ptr<Kernel> kernel_;
  deep_jit::cuda::LaunchOptions options_;
};

class PreparedCudaSchedule final : public PreparedLogitsSchedule {
 public:
  PreparedCudaSchedule(const LogitsScheduleProblem& p, int device, const Knobs& knobs)
      : kernel_(compile_cuda(portable_logits_schedule_source(), device)) {
    params_.lengths_stride = p.lengths_stride;
    params_.batch = static_cast<int>(p.batch);
    params_.next_n = static_cast<int>(p.next_n);
    params_.slots = static_cast<int>(p.slots);
    options_.grid_dim = deep_jit::cuda::Dim3(1);
    options_.block_dim = deep_jit::cuda::Dim3(kLogitsScheduleThreads);
    options_.enable_pdl = knobs.pdl != 0;
  }

  bool launch(const LogitsScheduleAddresses& addresses) const override {
    LogitsScheduleParams params = params_;
    params.lengths = static_cast<const int*>(addresses.lengths);
    params.schedule = static_cast<int*>(addresses.schedule);
    kernel_->launch(options_, params);
    return true;
  }

 private:
  LogitsScheduleParams params_{};
  std::shared_ptr<Kernel> kernel_;
  deep_jit::cuda::LaunchOptions options_;
};

}  // namespace

std::shared_ptr<const PreparedLogits> prepare_cuda_logits(const LogitsProblem& problem,
                                                          const LogitsPlan& plan, int device,
                                                          const Knobs& knobs) {
  return std::make_shared<PreparedPortableLogits>(problem, std::get<PortableLogitsPlan>(plan),
                                                  device, knobs);
}

std::shared_ptr<const PreparedLogitsSchedule> prepare_cuda_logits_schedule(
    const LogitsScheduleProblem& problem, int device, const Knobs& knobs) {
  return std::make_shared<PreparedCudaSchedule>(problem, device, knobs);
}

}  // namespace deep_gemm
