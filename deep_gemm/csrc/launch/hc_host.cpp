// A host plan and addresses into the kernel's one parameter.
#include <deep_gemm/csrc/launch/gemm_host.hpp>
#include <deep_gemm/csrc/launch/hc_launch.hpp>
#include <deep_gemm/csrc/source/hc_source.hpp>

namespace deep_gemm {
namespace {

class PreparedHostHc final : public PreparedHc {
 public:
  PreparedHostHc(const HcProblem& problem, const HostHcPlan& plan)
      : params_(hc_flat_params(problem)),
        kernel_(compile_host(source_of(HcPlan(plan)))),
        num_threads_(static_cast<std::uint32_t>(plan.num_threads)) {
    params_.block_m = static_cast<int>(plan.block_m);
    params_.workspace_bytes = plan.workspace_bytes;
    options_.grid_dim = deep_jit::host::Dim3(plan.grid_m, params_.splits);
    options_.num_threads = num_threads_;
  }

  bool launch(const HcAddresses& at) const override {
    if (kernel_ == nullptr) return false;
    HcFlatParams params = params_;
    params.a = at.a;
    params.b = at.b;
    params.d = at.d;
    params.sqr_sum = at.sqr_sum;
    params.workspace =
        host_scratch(static_cast<std::size_t>(params.workspace_bytes) * num_threads_);
    kernel_->launch(options_, params);
    return true;
  }

 private:
  HcFlatParams params_;
  std::shared_ptr<deep_jit::host::Kernel> kernel_;  // null: nobody could compile it
  deep_jit::host::LaunchOptions options_;
  std::uint32_t num_threads_;
};

}  // namespace

std::shared_ptr<const PreparedHc> prepare_host_hc(const HcProblem& problem,
                                                  const HostHcPlan& plan) {
  return std::make_shared<PreparedHostHc>(problem, plan);
}

}  // namespace deep_gemm
